"""What the torch stack of this interpreter is, for checks that are made before a job runs.

Without `deep` nothing heavy is imported: versions come from the metadata of distributions.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from typing import Any

PACKAGES = (
    "torch",
    "transformers",
    "accelerate",
    "tokenizers",
    "safetensors",
    "peft",
    "datasets",
    "kernels",
    "bitsandbytes",
    "optimum-habana",
    "habana-torch-plugin",
    "pyzes",
    "intel-extension-for-pytorch",
)


def versions() -> dict[str, str | None]:
    """The version of every distribution of the stack, None for one that is not installed."""
    return {name: _version(name) for name in PACKAGES}


def facts(*, deep: bool = False, training: bool = False) -> dict[str, Any]:
    """One JSON object about this interpreter.

    Always `schema`, `python`, `executable`, `packages` and `kernels_range` (which releases of `kernels` this
    transformers takes, None where it does not say); with `deep` also `devices` (visible ones by torch device type),
    `backends` (of torch.distributed), `bf16` (by device type, None where nothing can be asked), `xpu` and `hpu` (see
    `facts_xpu` and `facts_hpu`) and `errors` (text by the part that could not be asked). With `training` also
    `training_device`, where a Trainer of one process would work, and on Gaudi `opened`: nodes that this opened.
    """
    document: dict[str, Any] = {
        "schema": 1,
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": versions(),
        "kernels_range": _wanted_by("transformers", "kernels"),
    }
    if deep:
        document.update(_deep())
    if training and "torch" not in document.get("errors", {}):
        _examine(document.setdefault("errors", {}), "training", lambda: _examine_training(document))
    return document


def _wanted_by(distribution: str, name: str) -> str | None:
    """The range of releases of `name` in the requirements of `distribution`, as in `>=0.18.2,<0.19`."""
    try:
        requirements = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        match = re.match(rf"{re.escape(name)}\s*\(?([<>=!~][^;)]*)", requirement)
        if match:
            return match[1].strip()
    return None


def _examine_training(document: dict[str, Any]) -> None:
    import tempfile

    from transformers import TrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        document["training_device"] = str(TrainingArguments(output_dir=folder, report_to="none").device)
    if document.get("devices", {}).get("hpu"):
        from accel_tui_worker import facts_hpu

        document["opened"] = facts_hpu.opened()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _deep() -> dict[str, Any]:
    errors: dict[str, str] = {}
    found: dict[str, Any] = {
        "devices": {"cpu": 1, "xpu": 0, "hpu": 0},
        "backends": dict.fromkeys(("gloo", "xccl", "hccl"), False),
        "bf16": {"cpu": True, "xpu": None, "hpu": None},
        "errors": errors,
    }
    try:
        import torch
    except Exception as error:  # a border: a broken torch raises anything, and that is the finding
        errors["torch"] = f"{type(error).__name__}: {error}"
        return found
    _examine(errors, "xpu", lambda: _examine_xpu(torch, found))
    _examine(errors, "hpu", lambda: _examine_hpu(torch, found))
    _examine(errors, "backends", lambda: _examine_backends(torch, found))
    return found


def _examine(errors: dict[str, str], part: str, examine: Any) -> None:
    try:
        examine()
    except Exception as error:  # a border: vendor libraries raise what they like, and the rest is still worth telling
        errors[part] = f"{type(error).__name__}: {error}"


def _examine_xpu(torch: Any, found: dict[str, Any]) -> None:
    from accel_tui_worker import facts_xpu

    facts_xpu.examine(torch, found)


def _examine_hpu(torch: Any, found: dict[str, Any]) -> None:
    from accel_tui_worker import facts_hpu

    facts_hpu.examine(torch, found)


def _examine_backends(torch: Any, found: dict[str, Any]) -> None:
    distributed = torch.distributed
    if not distributed.is_available():
        return
    for name in ("gloo", "xccl"):
        available = getattr(distributed, f"is_{name}_available", None)
        found["backends"][name] = bool(available()) if available is not None else False
