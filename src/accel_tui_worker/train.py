"""Job kind `train`: full fine-tuning of a causal language model with the library's own Trainer."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker import checkpoints, compatibility, data, loading, placement
from accel_tui_worker.errors import BadInputError, DeviceMismatchError, InvalidJobError
from accel_tui_worker.hpu import import_torch

if TYPE_CHECKING:
    from accel_tui_worker.run import Context

METHODS = ("full",)


def train(context: Context) -> dict[str, Any]:
    """Train, evaluate and save; the figures of the `result`.

    Resuming reads `optimizer.pt`, `scheduler.pt` and `rng_state*.pth` of the checkpoint through the Trainer, which
    lets torch read tensors and plain values only; go on from checkpoints that you trust all the same.

    Raises:
        WorkerError: something in the job, its files or the devices in force.
    """
    output = _check(context)
    sources = data.find_sources(context.job.data)
    resume = _resume(context, output)
    context.events.emit("phase", phase="importing")
    import_torch(context.device)
    import transformers  # noqa: F401 - the imports are what takes the time of this phase

    from accel_tui_worker import trainer as _trainer  # noqa: F401

    context.events.emit("phase", phase="loading")
    device = loading.prepare_device(context.device)
    arguments = _arguments(context, output, device)
    placement.prove(context, arguments.device)
    with checkpoints.holding(output, context.events.warn) if context.rank == 0 else contextlib.nullcontext():
        figures = _run(context, _trainer_for(context, arguments, sources), output, resume)
    _leave_ranks()
    return figures


def _check(context: Context) -> Path:
    """Everything that can be refused before the heavy imports; the output folder."""
    settings = context.job.train
    if settings.method not in METHODS:
        raise InvalidJobError(f"train.method {settings.method!r} is not one of {', '.join(METHODS)}")
    compatibility.check_versions(context.device)
    loading.check_model(context.job.model)
    return Path(settings.output).expanduser().absolute() if settings.output else context.artefacts


def _resume(context: Context, output: Path) -> Path | None:
    """The checkpoint to go on from.

    A new training does not start in a folder that holds checkpoints: the library would mix both, and its limit on
    kept checkpoints would delete the new ones first.
    """
    settings, retried = context.job.train, context.job.resume == "last"
    origin = Path(settings.resume_from).expanduser().absolute() if settings.resume_from else output
    present = checkpoints.checkpoints(origin)
    if retried and (present or not settings.resume_from):  # a run that died in its first checkpoint starts anew
        point = checkpoints.newest_complete(origin)
        if point is None and present:
            reason = checkpoints.flaw(present[0])
            context.events.warn("started-anew", f"{origin} holds no complete checkpoint; {present[0].name}: {reason}")
    elif settings.resume_from:
        point = checkpoints.resume_point(origin)
    elif present:
        raise BadInputError(
            f"train.output: {output} holds {present[0].name} of an earlier training; set train.resume_from to go "
            "on from it, or name another output"
        )
    else:
        point = None
    if point is not None and not (point / "optimizer.pt").is_file() and not any(point.glob("global_step*")):
        context.events.warn("resumed-without-optimizer", f"{point} has no optimizer state; the optimizer starts anew")
    return point


def _arguments(context: Context, output: Path, device: Any) -> Any:
    """TrainingArguments in force, after the ranks and devices were proven to be those asked for."""
    from accel_tui_worker.trainer import verify_ranks

    arguments = compatibility.training_arguments(
        context.job.train.arguments, output=str(output), use_cpu=device.type == "cpu", warn=context.events.warn
    )
    loading.verify_device(device.type, arguments.device)
    verify_ranks(arguments, context.world)
    compatibility.let_checkpoints_load_on(arguments.device)
    if compatibility.fsdp_requested(arguments) and (context.world == 1 or device.type == "cpu"):
        where = f"{context.world} rank{'s' if context.world > 1 else ''} on {device.type}"
        raise DeviceMismatchError(
            f"fsdp was asked for and would not be in force: it shards over accelerators, not {where}"
        )
    return arguments


def _trainer_for(context: Context, arguments: Any, sources: tuple[list[data.Source], list[data.Source]]) -> Any:
    from accel_tui_worker.callbacks import RunCallback
    from accel_tui_worker.trainer import RunTrainer, collate

    tokenizer = loading.load_tokenizer(context.job.model)
    training, evaluation = _blocks(context, sources, tokenizer)
    if evaluation is None and str(getattr(arguments.eval_strategy, "value", arguments.eval_strategy)) != "no":
        raise InvalidJobError(
            "train.arguments.eval_strategy is set, and there is nothing to evaluate on; set data.eval_path"
        )
    model = loading.load_model(context)
    _check_fit(context, model, tokenizer)
    trainer = RunTrainer(
        model=model,
        args=arguments,
        data_collator=collate,
        train_dataset=training,
        eval_dataset=evaluation,
        processing_class=tokenizer,
    )
    epoch_tokens = len(training) * context.job.data.block_size
    trainer.events = RunCallback(context, epoch_tokens, functools.partial(_verify_and_tell, context, trainer))
    trainer.add_callback(trainer.events)
    return trainer


def _blocks(context: Context, sources: tuple[list[data.Source], list[data.Source]], tokenizer: Any) -> tuple[Any, Any]:
    """What is trained on, and what is evaluated on or None; both tokenised, packed and not empty."""
    from accel_tui_worker.trainer import Blocks

    settings = context.job.data
    tokens = data.tokenise(sources[0], settings, tokenizer)
    count = _count("data.path", settings.path, tokens, settings.block_size)
    if sources[1]:
        held_out = data.tokenise(sources[1], settings, tokenizer)
        chosen = range(_count("data.eval_path", settings.eval_path, held_out, settings.block_size))
        training, evaluation = (
            Blocks(tokens.ids, settings.block_size, range(count)),
            Blocks(held_out.ids, settings.block_size, chosen),
        )
    else:
        first, second = data.split_blocks(count, settings.eval_fraction)
        training, evaluation = (Blocks(tokens.ids, settings.block_size, part) for part in (first, second))
    context.events.emit(
        "data",
        examples=tokens.examples,
        tokens=len(tokens.ids),
        blocks=len(training),
        block_size=settings.block_size,
        eval_blocks=len(evaluation),
    )
    return training, evaluation if len(evaluation) else None


def _count(what: str, path: str | None, tokens: data.Tokens, block_size: int) -> int:
    count = len(tokens.ids) // block_size
    if not tokens.ids:
        raise BadInputError(f"{what}: {path} holds no text")
    if not count:
        raise BadInputError(f"{what}: {path} holds {len(tokens.ids)} tokens, less than one block of {block_size}")
    return count


def _check_fit(context: Context, model: Any, tokenizer: Any) -> None:
    """Whether model, tokenizer and block size go together."""
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise InvalidJobError(
            f"model.tokenizer has {len(tokenizer)} tokens and the model {rows}: they do not go together"
        )
    window = getattr(model.config, "max_position_embeddings", None)
    if window and context.job.data.block_size > window:
        message = f"data.block_size {context.job.data.block_size} is more than the {window} tokens of this model"
        context.events.warn("context-exceeded", message)
    if str(model.dtype) in ("torch.bfloat16", "torch.float16"):
        message = (
            f'the weights are {str(model.dtype)[6:]}, where small updates vanish; model.dtype = "float32" keeps them'
        )
        context.events.warn("low-precision-weights", message)


def _verify_and_tell(context: Context, trainer: Any) -> None:
    from accel_tui_worker.trainer import verify_backend, verify_wrapper

    arguments, model = trainer.args, trainer.model
    context.events.emit(
        "device",
        device=str(model.device),
        backend=verify_backend(arguments),
        world=arguments.world_size,
        wrapper=verify_wrapper(trainer),
        compiled=arguments.torch_compile_backend if arguments.torch_compile else None,
        **loading.model_facts(model),
    )
    loading.verify_device(arguments.device.type, model.device)


def _run(context: Context, trainer: Any, output: Path, resume: Path | None) -> dict[str, Any]:
    from accel_tui_worker.callbacks import plain_figures

    context.stop.defer()
    outcome = trainer.train(resume_from_checkpoint=str(resume) if resume else None)
    callback, metrics = trainer.events, dict(outcome.metrics)
    if (
        not callback.stopped
        and trainer.eval_dataset is not None
        and callback.evaluated_step != trainer.state.global_step
    ):
        metrics.update(trainer.evaluate())
    if trainer.state.global_step >= trainer.state.max_steps:  # a stopped training has its checkpoint and no model
        callback.pause("saving")
        trainer.save_model(str(output))
    return {
        "stopped": callback.stopped,
        "step": trainer.state.global_step,
        "total": trainer.state.max_steps,
        "epoch": trainer.state.epoch,
        "resumed_from": str(resume) if resume else None,
        "output": str(output),
        "checkpoint": str(callback.last_checkpoint) if callback.last_checkpoint else None,
        "steps_per_second": callback.steps_per_second(),
        **plain_figures(metrics),
    }


def _leave_ranks() -> None:
    """End the process group, so that no rank warns of it or hangs at exit."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
