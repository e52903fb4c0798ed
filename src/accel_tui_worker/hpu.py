"""Gaudi in the job's Python: which card this rank is bound to, and the plugin that makes torch know it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from accel_tui_worker.errors import UnsupportedStackError

if TYPE_CHECKING:
    from collections.abc import MutableMapping


def bind(environment: MutableMapping[str, str]) -> None:
    """Name the module of this rank in `HLS_MODULE_ID`, from the planned list; before torch is imported.

    The plugin would do the same for several ranks. With one process it would not, and take the first free card of the
    machine; and what later releases do is not public. A number that all ranks inherited would make them fight for it.
    """
    modules = [item.strip() for item in environment.get("HABANA_VISIBLE_MODULES", "").split(",") if item.strip()]
    rank = int(environment.get("LOCAL_RANK") or "0")
    if rank < len(modules):
        environment["HLS_MODULE_ID"] = modules[rank]


def import_plugin(torch: Any) -> None:
    """Import the plugin right after torch, so that nothing can ask for `hpu` before.

    In eager mode transformers never imports it: it trusts torch to have done so, which two variables switch off, and
    then trains on the CPU without a word.

    Raises:
        UnsupportedStackError: the plugin is missing, does not fit this torch or cannot load its libraries.
    """
    try:
        import habana_frameworks.torch  # noqa: F401 - registers torch.hpu
    except Exception as error:  # a border: it asserts versions, loads libraries and raises what it likes
        raise UnsupportedStackError(
            f"habana_frameworks.torch (habana-torch-plugin) cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(torch, "hpu"):
        raise UnsupportedStackError("habana_frameworks.torch was imported, and torch still knows no hpu")


def import_torch(device: str) -> Any:
    """torch for the torch device `device`: for Gaudi bound to this rank's card, with its plugin.

    Raises:
        UnsupportedStackError: see `import_plugin`.
    """
    on_gaudi = device.partition(":")[0] == "hpu"
    if on_gaudi:
        bind(os.environ)
    import torch

    if on_gaudi:
        import_plugin(torch)
    return torch
