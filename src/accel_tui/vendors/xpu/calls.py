"""Calls into Sysman as pyzes binds them: the count idiom, and functions that a loader does not have."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from accel_tui.vendors.xpu.results import SUCCESS, UNSUPPORTED

WHOLE = None
"""Stands for the card itself where tiles have their numbers."""
_MOST = 4096


def call(function: Callable[..., int], *arguments: Any) -> int:
    """The result code as an unsigned number; a function that the loader lacks counts as not offered."""
    try:
        return function(*arguments) & 0xFFFFFFFF
    except AttributeError:  # pyzes looks the symbol up at the first call
        return UNSUPPORTED


def listed(
    function: Callable[..., int], kind: Any, *owner: Any, stype: int | None = None, spare: int = 0
) -> tuple[int, list[Any]]:
    """The items of an enumeration: asked for their count first, then for themselves.

    Args:
        function: An `Enum…` or `Get…` of Sysman.
        kind: The ctypes type of an item.
        owner: The handle that it belongs to, if any.
        stype: For structures that begin with their type: its number.
        spare: Room for items that come up between the two calls.
    """
    count = ctypes.c_uint32(0)
    code = call(function, *owner, ctypes.byref(count), None)
    if code != SUCCESS or count.value == 0:
        return code, []
    size = min(count.value, _MOST) + spare
    items = (kind * size)()
    for item in items if stype is not None else ():
        item.stype = stype
    count.value = size
    code = call(function, *owner, ctypes.byref(count), items)
    return (code, list(items)[: min(count.value, size)]) if code == SUCCESS else (code, [])


def tile_of(properties: Any) -> int | None:
    """The tile that a part belongs to, None when it belongs to the whole card."""
    return int(properties.subdeviceId) if properties.onSubdevice else WHOLE


def unbound(module: Any, name: str, *argument_types: Any) -> Callable[..., int]:
    """A read-only function that pyzes does not bind; called, it raises AttributeError where the loader lacks it."""

    bound: list[Callable[..., int]] = []

    def invoke(*arguments: Any) -> int:
        if not bound:
            function = getattr(module.gpuLib, name)
            function.argtypes, function.restype = list(argument_types), ctypes.c_int32
            bound.append(function)
        return bound[0](*arguments)

    return invoke
