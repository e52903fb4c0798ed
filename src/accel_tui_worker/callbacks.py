"""Callbacks of the Trainer: events, figures, and the stop that all ranks agree on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui_worker.run import Context

EVERY_STEP_UNTIL = 1000
"""So many steps of a run get an event each; later ones at most ten a second, so that event files stay small."""


MISLEADING = ("train_samples_per_second", "train_steps_per_second")
"""The library divides the steps that were planned, not those that were made, by the time of a stopped training."""


def plain_figures(metrics: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a metrics dict that mean what they say."""
    return {
        name: value for name, value in metrics.items() if isinstance(value, (int, float)) and name not in MISLEADING
    }


class EvaluationCutError(Exception):
    """All ranks agreed to stop in the middle of an evaluation."""


class Agreement:
    """Whether any rank was asked to stop, decided by all ranks together at the same place of the loop."""

    def __init__(self, requested: Callable[[], bool], device: torch.device) -> None:
        """Collective: every rank makes its own at the same time.

        The question goes over gloo on the CPU, so that no accelerator has to be waited for at each step.
        """
        self._requested = requested
        self._group: Any = None
        self._device = torch.device("cpu")
        self._ranks = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
        if self._ranks > 1 and dist.get_backend() != "gloo":
            if dist.is_gloo_available():
                self._group = dist.new_group(backend="gloo")
            else:
                self._device = device

    def stop(self) -> bool:
        """Collective: the same answer on every rank."""
        if self._ranks == 1:
            return self._requested()
        flag = torch.tensor([int(self._requested())], dtype=torch.int32, device=self._device)
        dist.all_reduce(flag, op=dist.ReduceOp.MAX, group=self._group)
        return bool(flag.item())


class StepClock:
    """Times of the steps made in this process.

    Evaluations and checkpoints are left out of rates of work, and are part of what is left to wait for.
    """

    def __init__(self, first_step: int) -> None:
        self._first_step = first_step
        self._begin = self._mark = time.perf_counter()
        self._first_end: float | None = None
        self._busy = 0.0
        self._logged_busy = self._logged_epoch = 0.0

    def resume(self) -> None:
        """Something that is no step ends here."""
        self._mark = time.perf_counter()

    def tick(self) -> None:
        """A step ends here."""
        now = time.perf_counter()
        self._busy += now - self._mark
        self._mark = now
        self._first_end = self._first_end or now

    def rate_and_eta(self, step: int, total: int) -> tuple[float | None, float | None]:
        """Steps per second and seconds left.

        The first step, which may compile, counts only while it is the only one.
        """
        done = step - self._first_step
        if done <= 0 or self._first_end is None:
            return None, None
        start, steps = (self._first_end, done - 1) if done > 1 else (self._begin, done)
        elapsed = self._mark - start
        if elapsed <= 0:
            return None, None
        return round(steps / elapsed, 3), round((total - step) * elapsed / steps, 1)

    def begin_epochs(self, epoch: float) -> None:
        """Where in the data this run starts."""
        self._logged_epoch = epoch

    def steps_per_second(self, steps: int) -> float | None:
        """Over all steps of this run."""
        return round(steps / self._busy, 3) if self._busy > 0 else None

    def tokens_per_second(self, epoch: float, epoch_tokens: int) -> float | None:
        """Over the steps since the last call."""
        seconds, share = self._busy - self._logged_busy, epoch - self._logged_epoch
        self._logged_busy, self._logged_epoch = self._busy, epoch
        return round(share * epoch_tokens / seconds, 1) if seconds > 0 and share > 0 else None


class RunCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not typed where types are checked
    """Writes the events of a training and stops it when the ranks agree to."""

    def __init__(self, context: Context, epoch_tokens: int, verify: Callable[[], None]) -> None:
        """`verify` is called once the model is wrapped, and raises when it is not wrapped as asked."""
        self._context = context
        self._events = context.events
        self._epoch_tokens = epoch_tokens
        self._verify = verify
        self._clock = StepClock(0)
        self._agreement: Agreement | None = None
        self._compiling = False
        self._step_told = 0.0
        self._steps = 0
        self._ending = False
        self.stopped = False
        """The ranks agreed to stop before the end."""
        self.last_checkpoint: Path | None = None
        self.evaluated_step: int | None = None
        """Step of the last evaluation that was finished."""

    def on_train_begin(self, args: Any, state: Any, _control: Any, **_: Any) -> None:
        self._verify()
        self._agreement = Agreement(lambda: self._context.stop.requested, args.device)
        self._compiling = bool(args.torch_compile)
        self._events.emit("phase", phase="compiling" if self._compiling else "training")
        self._clock = StepClock(state.global_step)
        self._clock.begin_epochs(state.epoch or 0.0)

    def on_epoch_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        if not self._steps:  # a resumed run has skipped the data that was seen before
            self._clock.begin_epochs(state.epoch or 0.0)

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        self._clock.tick()
        self._steps += 1
        if self._compiling:
            self._compiling = False
            self._events.emit("phase", phase="training")
        if state.is_world_process_zero:
            self._tell_step(state)
        if self._agree() and state.global_step < state.max_steps:
            self.stopped = True
            control.should_save = control.should_training_stop = True
            control.should_evaluate = False
        self._ending = control.should_training_stop

    def _agree(self) -> bool:
        return self._agreement is not None and self._agreement.stop()

    def _tell_step(self, state: Any) -> None:
        now = time.monotonic()
        if self._steps > EVERY_STEP_UNTIL and now - self._step_told < 0.1 and state.global_step < state.max_steps:
            return
        self._step_told = now
        rate, eta = self._clock.rate_and_eta(state.global_step, state.max_steps)
        self._events.emit(
            "step",
            step=state.global_step,
            total=state.max_steps,
            epoch=round(state.epoch or 0.0, 4),
            eta_seconds=eta,
            steps_per_second=rate,
        )

    def on_prediction_step(self, args: Any, _state: Any, control: Any, **_: Any) -> None:
        # A best model or a plateau needs the metric: then the evaluation is finished first.
        if args.metric_for_best_model is None and "plateau" not in str(args.lr_scheduler_type) and self._agree():
            self.stopped = True
            control.should_save = control.should_training_stop = self._ending = True
            raise EvaluationCutError

    def on_log(self, _args: Any, state: Any, _control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if not state.is_world_process_zero or not logs:
            return
        figures = plain_figures(logs)
        if "loss" in figures:
            figures["tokens_per_second"] = self._clock.tokens_per_second(state.epoch or 0.0, self._epoch_tokens)
        self._events.emit("log", step=state.global_step, **figures)

    def on_save(self, args: Any, state: Any, _control: Any, **_: Any) -> None:
        self.last_checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self._events.emit("checkpoint", step=state.global_step, folder=str(self.last_checkpoint))

    def on_evaluate(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        self.evaluated_step = state.global_step

    def pause(self, phase: str) -> None:
        """An evaluation or a checkpoint begins."""
        self._events.emit("phase", phase=phase)

    def go_on(self) -> None:
        """It is over; mostly training goes on."""
        self._clock.resume()
        if not self._ending:
            self._events.emit("phase", phase="training")

    def steps_per_second(self) -> float | None:
        """Over all steps of this run, evaluations and checkpoints left out."""
        return self._clock.steps_per_second(self._steps)
