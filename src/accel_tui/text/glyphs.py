"""Glyphs with their roles and words, and how numbers, durations and times are written. Pure functions.

A glyph never stands alone: the word of the table, or a name in its place, is always beside it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

KIB, MIB, GIB = 1024, 1024**2, 1024**3


@dataclass(frozen=True)
class Glyph:
    """One sign in both character sets."""

    unicode: str
    ascii: str
    role: str
    word: str = ""
    """What stands with it when no name does; empty for signs that are part of a drawing."""
    rare: bool = False
    """Missing in some terminal fonts."""


GLYPHS: Mapping[str, Glyph] = MappingProxyType(
    {
        "running": Glyph("●", "*", "ok", "running"),
        "free": Glyph("○", "o", "muted", "free"),
        "option-on": Glyph("●", "*", "accent"),
        "option-off": Glyph("○", "o", "muted"),
        "other-user": Glyph("◆", "@", "foreign", "owner hidden"),
        "idle-held": Glyph("◐", "~", "warn", "idle-held"),
        "releasing": Glyph("◐", "~", "warn", "releasing"),
        "stale": Glyph("◌", "?", "warn", "stale", rare=True),
        "queued": Glyph("◷", "q", "accent", "queued", rare=True),
        "reserved": Glyph("◷", "q", "accent", "reserved", rare=True),
        "succeeded": Glyph("✓", "+", "ok", "succeeded"),
        "passed": Glyph("✓", "+", "ok", "passed"),
        "failed": Glyph("✗", "X", "error", "failed"),
        "device-lost": Glyph("✗", "X", "error", "lost"),
        "invalid": Glyph("✗", "X", "error", "invalid"),
        "stopped": Glyph("■", "#", "muted", "stopped"),
        "lost": Glyph("◇", "%", "warn", "lost"),
        "warning": Glyph("▲", "!", "warn", "warning"),
        "notice": Glyph("▲", "!", "warn", "notice"),
        "picked": Glyph("▣", "x", "accent", "picked"),
        "can-pick": Glyph("□", ".", "text", "can be picked"),
        "cannot-pick": Glyph("·", "-", "faint", "cannot be picked"),
        "changed": Glyph("•", "*", "accent", "changed"),
        "cursor": Glyph("▌", ">", "accent"),
        "bar-full": Glyph("━", "=", "util"),
        "bar-half": Glyph("╸", "-", "util"),
        "bar-rest": Glyph("─", ".", "track"),
        "folded": Glyph("▸", ">", "accent", "folded"),
        "open": Glyph("▾", "v", "accent", "open"),
        "event": Glyph("▼", "v", "warn"),
        "gap": Glyph("┊", ":", "warn", "no reading"),
        "rule": Glyph("─", "-", "line"),
        "upright": Glyph("│", "|", "line"),
        "scroll": Glyph("┃", "|", "muted"),
        "up": Glyph("▴", "^", "accent", "ascending"),
        "down": Glyph("▾", "v", "accent", "descending"),
        "more": Glyph("↓", "v", "muted", "more below"),
        "absent": Glyph("–", "-", "faint"),
        "cut": Glyph("…", "..", "faint"),
    }
)
"""Every sign by its meaning."""


@dataclass(frozen=True)
class Glyphs:
    """The table as one terminal can show it."""

    ascii: bool = False
    """Only characters of ASCII."""
    rare: bool = True
    """The font has the rarest signs; without it these alone become ASCII."""

    def text(self, name: str) -> str:
        """The sign of a meaning."""
        glyph = GLYPHS[name]
        return glyph.ascii if self.ascii or (glyph.rare and not self.rare) else glyph.unicode

    @property
    def degree(self) -> str:
        """The unit of temperatures in a header."""
        return "C" if self.ascii else "°C"

    @property
    def heat(self) -> str:
        """Steps of a heat strip where colour cannot tell them apart, from little to much."""
        return " .:-=+*#%@" if self.ascii else " ░▒▓█"


def percent(value: float) -> str:
    """A share in whole per cent, without the sign: `94`."""
    return str(_rounded(value))


def memory(used: float, total: float | None = None) -> tuple[str, str]:
    """Used bytes in GiB with one decimal, and the total behind a slash: `("88.2", "/128")`."""
    return f"{used / GIB:.1f}", "" if total is None else f"/{_rounded(total / GIB)}"


def size(count: float) -> str:
    """Bytes of memory or files in binary units: `412 MiB`, `3.3 GiB`."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(value) < 1023.5 or unit == "PiB":
            break
        value /= 1024
    return f"{_rounded(value)} {unit}" if unit == "B" else f"{_short(value)} {unit}"


def data_rate(count: float) -> str:
    """Bytes per second of disk or network in decimal units: `1.2 GB/s`."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5 or unit == "TB":
            break
        value /= 1000
    return f"{_rounded(value)} {unit}/s" if unit == "B" else f"{_short(value)} {unit}/s"


def rate(value: float) -> str:
    """A rate whose unit stands in the label: `2.31`, `18.4`, `540`, `41.2 k`."""
    if not math.isfinite(value):
        return "–"
    if abs(value) < 9.995:
        return f"{value:.2f}"
    if abs(value) < 99.95:
        return f"{value:.1f}"
    if abs(value) < 999.5:
        return str(_rounded(value))
    for limit, unit in ((999.95e3, "k"), (999.95e6, "M"), (math.inf, "G")):
        if abs(value) < limit:
            return f"{value / {'k': 1e3, 'M': 1e6, 'G': 1e9}[unit]:.1f} {unit}"
    raise AssertionError("every finite number is below infinity")


def thousands(value: int) -> str:
    """A count with gaps: `41 210`."""
    return f"{value:,}".replace(",", " ")


def loss(value: float) -> str:
    """A loss with three decimals: `1.252`; the word where it is not finite."""
    return f"{value:.3f}" if math.isfinite(value) else _not_finite(value)


def learning_rate(value: float) -> str:
    """`1.8e-5`: one decimal where it says something, and an exponent without padding."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else _not_finite(value)
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent)}"


def signed(value: float, unit: str = "", decimals: int = 0) -> str:
    """A difference with its sign and unit: `-31.4 GiB`, `+38 %`; `0` has none."""
    text = f"{value:+.{decimals}f}"
    if float(text) == 0:
        text = f"{0:.{decimals}f}"
    return f"{text} {unit}".rstrip()


def duration(seconds: float) -> str:
    """The two largest units: `6 s`, `7 m 12 s`, `3 h 12 m`, `1 d 04 h`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    for size_, large, small_size, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size_:
            return f"{whole // size_} {large} {whole % size_ // small_size:02d} {small}"
    raise AssertionError("a minute or more has a largest unit")


def clock(seconds: float, zone: datetime.tzinfo | None = None) -> str:
    """A moment of today: `12:41:07`.

    Args:
        seconds: Since the epoch.
        zone: The reader's time zone; None is that of the host.
    """
    return _local(seconds, zone).strftime("%H:%M:%S")


def moment(seconds: float, now: float, zone: datetime.tzinfo | None = None) -> str:
    """A moment, its day named where it is not today: `12:41:07`, `yesterday 21:44`, `Nov 28 16:02`, `Nov 28 2024`."""
    then, today = _local(seconds, zone), _local(now, zone)
    days = (today.date() - then.date()).days
    if days == 0:
        return then.strftime("%H:%M:%S")
    if days == 1:
        return f"yesterday {then:%H:%M}"
    day = f"{_MONTHS[then.month - 1]} {then.day}"
    return f"{day} {then:%H:%M}" if then.year == today.year or abs(days) < 180 else f"{day} {then.year}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _local(seconds: float, zone: datetime.tzinfo | None) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).astimezone(zone)


def _short(value: float) -> str:
    return f"{value:.1f}" if abs(value) < 99.95 else str(_rounded(value))


def _rounded(value: float) -> int:
    """Halves away from zero, as people round; `round` would give 88 for 88.5 and 90 for 89.5."""
    return math.floor(value + 0.5) if value >= 0 else -math.floor(-value + 0.5)


def _not_finite(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
