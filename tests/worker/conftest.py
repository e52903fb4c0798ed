"""Jobs on the tiny model, small enough for seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.working import MakeJob


@pytest.fixture
def train_job(tiny_model: Path) -> MakeJob:
    """Makes a training job: eight steps unless arguments say otherwise."""

    def make(*, data: dict[str, Any] | None = None, train: dict[str, Any] | None = None, **arguments: Any) -> Any:
        return {
            "kind": "train",
            "model": {"path": str(tiny_model)},
            "data": {"path": str(tiny_model / "train.txt"), "block_size": 32, "limit": 300, **(data or {})},
            "train": {
                "arguments": {
                    "max_steps": 8,
                    "per_device_train_batch_size": 2,
                    "logging_steps": 2,
                    "save_steps": 4,
                    "disable_tqdm": True,
                    **arguments,
                },
                **(train or {}),
            },
        }

    return make


@pytest.fixture
def generate_job(tiny_model: Path) -> MakeJob:
    """Makes a generation job: six tokens for a prompt unless arguments say otherwise."""

    def make(*, generate: dict[str, Any] | None = None, **arguments: Any) -> Any:
        length = {"max_new_tokens": 6, "min_new_tokens": 6}
        return {
            "kind": "generate",
            "model": {"path": str(tiny_model)},
            "generate": {"prompts": ["What is a class?"], "arguments": {**length, **arguments}, **(generate or {})},
        }

    return make
