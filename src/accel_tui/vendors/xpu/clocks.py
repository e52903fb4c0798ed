"""The clock of a card or tile, and what holds it down, from the frequency folders of i915 and xe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, absent, ok
from accel_tui.vendors.xpu.cards import frequency_folders
from accel_tui.vendors.xpu.files import Found, entries, look, text

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.vendors.xpu.cards import Card

_ACTUAL = ("act_freq", "rps_act_freq_mhz", "gt_act_freq_mhz")
_STATUS = ("throttle/status", "throttle_reason_status")


class Clocks:
    """The frequency files of the compute engines, found once and then read."""

    def __init__(self, card: Card, source: str, tile: int | None = None) -> None:
        folders = frequency_folders(card, tile)
        self._source = source
        self._actual = [path for folder in folders if (path := _first(folder, _ACTUAL)) is not None]
        self._throttle = [(folder, path) for folder in folders if (path := _first(folder, _STATUS)) is not None]

    def readings(self) -> dict[str, Reading]:
        """`clock_mhz`, the highest of several, and `throttle_reasons`."""
        return {"clock_mhz": self._clock(), "throttle_reasons": self._reasons()}

    def _clock(self) -> Reading:
        """0 is normal for a card that sleeps."""
        found = [look(path) for path in self._actual]
        speeds = [one.number for one in found if one.number is not None and one.number >= 0]
        if speeds:
            return ok(max(speeds), self._source)
        if found:
            return found[0].reading(self._source, lambda speed: speed if speed >= 0 else None, "a frequency")
        return absent("the driver does not tell the clock of this card", self._source)

    def _reasons(self) -> Reading:
        """Such as `pl1, thermal`; `none` when the card runs as it is asked to."""
        reasons: dict[str, None] = {}
        status: Found | None = None
        for folder, path in self._throttle:
            found = look(path)
            status = found if status is None or found.number else status
            reasons |= dict.fromkeys(_named(folder) if found.number else ())
        if reasons:
            return ok(", ".join(reasons), self._source)
        if status is None:
            return absent("the driver does not tell whether this card is throttled", self._source)
        if status.number is None:
            return status.reading(self._source, lambda _number: None, "a status")
        return ok("throttled, the driver does not tell why" if status.number else "none", self._source)


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((path for name in names if (path := folder / name).exists()), None)


def _named(folder: Path) -> list[str]:
    """The reasons whose files are not 0: `throttle/reason_X` of xe, `throttle_reason_X` of i915."""
    found = []
    for path in (*entries(folder / "throttle"), *entries(folder)):
        kind, _, name = path.name.removeprefix("throttle_").partition("_")
        if kind == "reason" and name != "status" and text(path) not in (None, "0"):
            found.append(name)
    return found
