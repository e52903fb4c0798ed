"""Reading an inherited `ONEAPI_DEVICE_SELECTOR`: which of the visible GPUs it leaves. Pure.

    SELECTOR = TERM (";" TERM)*          TERM = ["!"] BACKEND ":" DEVICE ("," DEVICE)*
    DEVICE   = "*" | "gpu" | "cpu" | "fpga" | NUMBER | NUMBER "." …

(The environment variables of the SYCL runtime, as Intel's LLVM documents them.) It works one layer above the affinity
mask: its numbers count what the mask left.
"""

from __future__ import annotations

from dataclasses import dataclass

_BACKENDS = ("level_zero", "*")


@dataclass(frozen=True)
class Picked:
    """What a selector takes of the Level Zero GPUs."""

    everything: bool = False
    numbers: frozenset[int] = frozenset()
    without: frozenset[int] = frozenset()
    nothing: bool = False
    """A term with `!` shuts out all of them."""

    def takes(self, index: int) -> bool:
        return not self.nothing and index not in self.without and (self.everything or index in self.numbers)


def parse(text: str | None) -> Picked | None:
    """What `text` says; None where it is unset, empty or cannot be read, which limits nothing."""
    if not text or not text.strip():
        return None
    everything, nothing, accepting = False, False, False
    numbers: set[int] = set()
    without: set[int] = set()
    for term in text.strip().lower().split(";"):
        shut = term.startswith("!")
        backend, colon, devices = term.removeprefix("!").partition(":")
        if not colon:
            return None
        accepting = accepting or not shut
        if backend not in _BACKENDS:
            continue
        for device in devices.split(","):
            word = device.strip().partition(".")[0]
            if word in ("*", "gpu"):
                everything, nothing = everything or not shut, nothing or shut
            elif word.isdecimal():
                (without if shut else numbers).add(int(word))
    return Picked(everything or not accepting, frozenset(numbers), frozenset(without), nothing)
