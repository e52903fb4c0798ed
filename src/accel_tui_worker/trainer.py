"""The Trainer with its seams: blocks in, phases and complete checkpoints out."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch.utils.data import Dataset
from transformers import Trainer

from accel_tui_worker import checkpoints, compatibility
from accel_tui_worker.callbacks import EvaluationCutError
from accel_tui_worker.errors import DeviceMismatchError

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from accel_tui_worker.callbacks import RunCallback

BACKENDS = {"cpu": ("gloo", "mpi"), "xpu": ("xccl", "ccl"), "hpu": ("hccl",)}
"""What moves data between ranks, by device type."""


class Blocks(Dataset):  # type: ignore[misc]  # torch is not typed where types are checked
    """Chosen blocks of one row of token ids; each is its own labels."""

    def __init__(self, ids: array[int], block_size: int, chosen: Sequence[int]) -> None:
        self._ids = torch.frombuffer(ids, dtype=torch.int32) if len(ids) else torch.empty(0, dtype=torch.int32)
        self._size = block_size
        self._chosen = chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        start = self._chosen[index] * self._size
        return {"input_ids": self._ids[start : start + self._size].long()}


def collate(items: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """A batch; every block is full, so there is nothing to pad or to mask."""
    ids = torch.stack([item["input_ids"] for item in items])
    return {"input_ids": ids, "labels": ids.clone()}


class RunTrainer(Trainer):  # type: ignore[misc]  # transformers is not typed where types are checked
    """Trainer that tells its phases, marks checkpoints while they are written and can be stopped in an evaluation."""

    events: RunCallback

    def evaluate(self, *arguments: Any, **options: Any) -> dict[str, float]:
        """Evaluate; an empty result when all ranks agreed to stop before the end of it."""
        self.events.pause("evaluating")
        try:
            return dict(super().evaluate(*arguments, **options))
        except EvaluationCutError:
            return {}
        finally:
            self.events.go_on()

    def _save_checkpoint(self, *arguments: Any, **options: Any) -> None:
        self.events.pause("saving")
        folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
        mark = checkpoints.being_written(folder) if self.args.should_save else contextlib.nullcontext()
        with mark:
            super()._save_checkpoint(*arguments, **options)
            self.accelerator.wait_for_everyone()  # the other ranks write their random states into it too
        self.events.go_on()


def verify_ranks(arguments: Any, world: int) -> None:
    """Compare the ranks that the launcher started with those that train together; raises DeviceMismatchError.

    Where no back end is found each rank trains alone, all of them into the same folder, and no library says so.
    """
    if arguments.world_size != world:
        raise DeviceMismatchError(
            f"the launcher started {world} ranks, and {arguments.world_size} would train together: no back end "
            f"between ranks is in force for {arguments.device}"
        )


def verify_backend(arguments: Any) -> str | None:
    """The back end in force, None for one rank alone; raises DeviceMismatchError when it does not fit the device."""
    if arguments.world_size == 1:
        return None
    kind = arguments.device.type
    parts = [part.partition(":") for part in str(dist.get_backend_config()).split(",")]
    backend = {device: name for device, _, name in parts}.get(kind) or str(dist.get_backend())
    wanted = (arguments.ddp_backend,) if arguments.ddp_backend else BACKENDS.get(kind, (backend,))
    if backend not in wanted:
        raise DeviceMismatchError(f"back end {backend} is in force, and {' or '.join(wanted)} belongs to {kind}")
    return backend


def verify_wrapper(trainer: Any) -> str | None:
    """The wrapper around the model once training begins, None without one; raises DeviceMismatchError."""
    if compatibility.fsdp_requested(trainer.args) and not trainer.is_fsdp_enabled:
        raise DeviceMismatchError("fsdp was asked for and is not in force; the Trainer ignores it on this device")
    wrapped = getattr(trainer.model_wrapped, "_orig_mod", trainer.model_wrapped)  # beneath the compiler's own wrapper
    if wrapped is not trainer.model or trainer.is_fsdp_enabled:
        return type(wrapped).__name__
    if trainer.args.world_size > 1:
        raise DeviceMismatchError(f"{trainer.args.world_size} ranks would train without exchanging gradients")
    return None
