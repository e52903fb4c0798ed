"""What torch and the libraries say of Gaudi, condition by condition, without taking a card.

Counting asks the runtime and opens nothing. Whatever would bind this process to a card is kept from doing it: a card
that was opened is reset when it is let go, and the run that comes next would find it busy.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def examine(torch: Any, document: dict[str, Any]) -> None:
    """Fill `devices.hpu`, `bf16.hpu`, `backends.hccl` and `hpu`, whose parts are the conditions of
    `transformers.utils.is_torch_hpu_available()` and what the libraries make of them:

    `packages` (which of the two can be found), `plugin` (None, or why its import failed), `known` (whether torch has
    `torch.hpu`), `available`, `transformers` and `accelerate` (their own answers; None where not installed), `hccl`
    (None, or why the back end cannot be imported).
    """
    told: dict[str, Any] = {
        "packages": {name: _found(name) for name in ("habana_frameworks", "habana_frameworks.torch")},
        "plugin": None, "known": False, "available": False, "transformers": None, "accelerate": None, "hccl": None,
    }  # fmt: skip
    document["hpu"] = told
    if not all(told["packages"].values()):
        return
    told["plugin"] = _failure("habana_frameworks.torch")
    told["known"] = hasattr(torch, "hpu")
    if told["plugin"] is not None or not told["known"]:
        return
    count = int(torch.hpu.device_count())
    document["devices"]["hpu"], told["available"] = count, bool(torch.hpu.is_available())
    if count:
        document["bf16"]["hpu"] = True
    told["hccl"] = _failure("habana_frameworks.torch.distributed.hccl")
    document["backends"]["hccl"] = told["hccl"] is None
    keep_off(torch)
    told["transformers"] = _answer("transformers.utils", "is_torch_hpu_available")
    told["accelerate"] = _answer("accelerate.utils", "is_hpu_available")


def keep_off(torch: Any) -> None:
    """Let nothing in this process bind itself to a card from now on: libraries still say which device they choose."""
    torch.hpu.set_device = lambda *_: None
    torch.hpu.current_device = lambda: 0


def opened() -> list[str]:
    """Compute nodes of accelerators that this process has open all the same."""
    from accel_tui_worker.placement_gaudi import is_node

    links = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(entry.readlink()))
        except OSError:  # closed since the folder was listed
            continue
    return sorted(link for link in links if is_node(link))


def _found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _failure(module: str) -> str | None:
    try:
        importlib.import_module(module)
    except Exception as error:  # a border: the plugin asserts versions, loads libraries and raises what it likes
        return f"{type(error).__name__}: {error}"
    return None


def _answer(module: str, function: str) -> bool | None:
    try:
        return bool(getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError):
        return None
