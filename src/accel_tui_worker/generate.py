"""Job kind `generate`: prompts in, text and figures out, one prompt after the other."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker import compatibility, loading, placement
from accel_tui_worker.errors import BadInputError, InvalidJobError
from accel_tui_worker.prompts import Prompt, ResultFile, read_prompts

if TYPE_CHECKING:
    from accel_tui_worker.job import Generate
    from accel_tui_worker.run import Context

MAX_NEW_TOKENS = 128
"""Used when neither the job nor its arguments limit the length; the library's own default counts the prompt too."""

CHAT_MODES = ("auto", "yes", "no")


@dataclass(frozen=True)
class Loaded:
    """What every prompt is worked on with."""

    tokenizer: Any
    model: Any
    config: Any
    """GenerationConfig of the job."""
    chat: bool


def generate(context: Context) -> dict[str, Any]:
    """Answer every prompt of the job; the figures of its `result`.

    Raises:
        WorkerError: something in the job or its files.
        StoppedError: a signal came; finished results are kept.
    """
    settings = context.job.generate
    prompts = _check(context)
    output = Path(settings.output).expanduser() if settings.output else context.artefacts / "results.jsonl"
    results = ResultFile(output, resume=context.job.resume == "last", warn=context.events.warn)
    done = _continued(results, prompts)
    loaded = _load(context, prompts)
    context.events.emit("phase", phase="generating")
    context.stop.defer()
    new_tokens = 0
    started = time.perf_counter()
    for index in range(done, len(prompts)):
        new_tokens += _answer(context, loaded, results, index, prompts)
    results.close()
    seconds = time.perf_counter() - started
    return {
        "prompts": len(prompts),
        "new_tokens": new_tokens,
        "seconds": round(seconds, 3),
        "tokens_per_second": round(new_tokens / seconds, 3) if new_tokens else None,
        "output": str(output),
    }


def _check(context: Context) -> list[Prompt]:
    """Everything that can be refused before the heavy imports."""
    settings = context.job.generate
    if context.world != 1:
        raise InvalidJobError(f"generate runs as one process, not {context.world}; set launch.processes = 1")
    if settings.chat not in CHAT_MODES:
        raise InvalidJobError(f"generate.chat {settings.chat!r} is not one of {', '.join(CHAT_MODES)}")
    if settings.arguments.get("num_return_sequences", 1) != 1:
        raise InvalidJobError("generate.arguments.num_return_sequences is not supported; repeat the prompt instead")
    compatibility.check_versions(context.device)
    loading.check_model(context.job.model)
    return read_prompts(settings)


def _continued(results: ResultFile, prompts: list[Prompt]) -> int:
    """How many prompts an earlier run answered into the same file."""
    for index, record in enumerate(results.kept):
        if index >= len(prompts) or record.get("prompt") != prompts[index].shown():
            raise BadInputError(
                f"{results.path} holds results of other prompts (line {index + 1}); name another output"
            )
    return len(results.kept)


def _load(context: Context, prompts: list[Prompt]) -> Loaded:
    events, settings = context.events, context.job.generate
    events.emit("phase", phase="importing")
    device = loading.prepare_device(context.device)
    placement.prove(context, device)
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401 - lazy names: imported in this phase

    events.emit("phase", phase="loading")
    tokenizer = loading.load_tokenizer(context.job.model)
    chat = _chat(settings, tokenizer, prompts)
    device_map = _device_map(device)
    model = loading.load_model(context, device_map)
    config = _config(settings, model, tokenizer)
    model = (model if device_map else model.to(device)).eval()
    events.emit(
        "device", device=str(model.device), devices=loading.spread(model, device.type), backend=None, world=1,
        wrapper=None, **loading.model_facts(model),
    )  # fmt: skip
    loading.verify_device(context.device, model.device)
    return Loaded(tokenizer, model, config, chat)


def _device_map(device: Any) -> str | None:
    """Where the library puts the model while it loads; None to move it there afterwards.

    Intel GPUs of one process share a model between them; one card needs no copy in host memory first.
    """
    if device.type == "hpu":
        return "hpu"
    if device.type != "xpu":
        return None
    return "auto" if len(placement.planned_keys(os.environ)) > 1 else str(device)


def _chat(settings: Generate, tokenizer: Any, prompts: list[Prompt]) -> bool:
    """Whether plain prompts go through the chat template."""
    has_template = bool(tokenizer.chat_template)
    conversations = any(prompt.messages is not None for prompt in prompts)
    if not has_template and (settings.chat == "yes" or conversations):
        raise InvalidJobError('this model has no chat template; use generate.chat = "no" and plain prompts')
    chat = has_template and settings.chat != "no"
    if settings.system and not chat:
        raise InvalidJobError("generate.system needs a chat template, and none is used here")
    return chat


def _config(settings: Generate, model: Any, tokenizer: Any) -> Any:
    arguments = dict(settings.arguments)
    if "max_length" not in arguments:
        arguments.setdefault("max_new_tokens", MAX_NEW_TOKENS)
    config = compatibility.generation_config(model, arguments)
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def _answer(context: Context, loaded: Loaded, results: ResultFile, index: int, prompts: list[Prompt]) -> int:
    """Answer one prompt, print it, record it; the number of new tokens."""
    from accel_tui_worker.run import StoppedError
    from accel_tui_worker.streaming import GenerationCutError

    prompt, stream = prompts[index], context.job.generate.stream
    print(f"[{index + 1}/{len(prompts)}] {prompt.title()}", flush=True)
    try:
        tokens, figures = _generate_one(context, loaded, prompt, index)
    except GenerationCutError as stop:
        print(flush=True)
        raise StoppedError(prompts=index, output=str(results.path)) from stop
    text = loaded.tokenizer.decode(tokens, skip_special_tokens=True)
    print("" if stream and context.job.generate.arguments.get("num_beams", 1) == 1 else text, flush=True)
    results.append({"index": index, "prompt": prompt.shown(), "text": text, **figures})
    context.events.emit("generation", index=index, **figures)
    return len(tokens)


def _generate_one(context: Context, loaded: Loaded, prompt: Prompt, index: int) -> tuple[list[int], dict[str, Any]]:
    import torch
    import transformers

    from accel_tui_worker.streaming import TimedStreamer

    inputs = _encode(context, loaded, prompt)
    count = inputs["input_ids"].shape[1]
    _check_length(context, loaded, index, count)
    streamer = TimedStreamer(loaded.tokenizer, context.stop, _write if context.job.generate.stream else None)
    single = loaded.config.num_beams in (None, 1)  # beam search hands out no token before it is sure
    transformers.set_seed(context.job.generate.seed + index)  # a result does not depend on where a run was resumed
    with torch.inference_mode():
        streamer.start()
        output = loaded.model.generate(
            **inputs, generation_config=loaded.config, **({"streamer": streamer} if single else {})
        )
    tokens = streamer.tokens if single else output[0, count:].tolist()
    figures = streamer.figures(count)
    return tokens, {**figures, "new_tokens": len(tokens)}


def _encode(context: Context, loaded: Loaded, prompt: Prompt) -> Any:
    messages = list(prompt.messages) if prompt.messages is not None else None
    if messages is None and loaded.chat:
        messages = [{"role": "user", "content": prompt.text or ""}]
    system = context.job.generate.system
    if messages is not None and system and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": system})
    if messages is None:
        encoded = loaded.tokenizer(prompt.text, return_tensors="pt")
    else:
        text = loaded.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        encoded = loaded.tokenizer(text, add_special_tokens=False, return_tensors="pt")
    if not encoded["input_ids"].shape[1]:
        raise BadInputError("a prompt is empty: there is no token to start from")
    kept = {name: encoded[name] for name in ("input_ids", "attention_mask") if name in encoded}
    return {name: tensor.to(loaded.model.device) for name, tensor in kept.items()}


def _check_length(context: Context, loaded: Loaded, index: int, prompt_tokens: int) -> None:
    window = getattr(loaded.model.config, "max_position_embeddings", None)
    wanted = prompt_tokens + (loaded.config.max_new_tokens or 0)
    if window and wanted > window:
        message = f"prompt {index + 1} with its answer is up to {wanted} tokens; the model was made for {window}"
        context.events.warn("context-exceeded", message)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
