"""Colour arithmetic for the theme tests: contrast, difference, and how colours look to colour-blind eyes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Literal

Triple = tuple[float, float, float]
Sight = Literal["normal", "protan", "deutan", "tritan"]

# Machado, Oliveira and Fernandes 2009, severity 1, applied to linear light.
_SIGHT: dict[Sight, tuple[Triple, Triple, Triple]] = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
_TO_XYZ: tuple[Triple, Triple, Triple] = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
_WHITE: Triple = (0.95047, 1.0, 1.08883)


def contrast(colour: str, surface: str) -> float:
    """The WCAG contrast ratio of two `#rrggbb` colours, 1 to 21."""
    light, dark = sorted((_luminance(colour), _luminance(surface)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def smallest_difference(colours: Iterable[str], sight: Sight) -> float:
    """The smallest CIE76 difference between any two of the colours."""
    seen = [_lab(_apply(_SIGHT[sight], _linear(colour))) for colour in colours]
    return min(math.dist(one, other) for one, other in itertools.combinations(seen, 2))


def _linear(colour: str) -> Triple:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return (_decode(red), _decode(green), _decode(blue))


def _decode(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else math.pow((value + 0.055) / 1.055, 2.4)


def _luminance(colour: str) -> float:
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def _apply(matrix: tuple[Triple, Triple, Triple], colour: Triple) -> Triple:
    one, two, three = (sum(a * b for a, b in zip(row, colour, strict=True)) for row in matrix)
    return (min(1.0, max(0.0, one)), min(1.0, max(0.0, two)), min(1.0, max(0.0, three)))


def _lab(linear: Triple) -> Triple:
    x, y, z = (
        _curve(sum(a * b for a, b in zip(row, linear, strict=True)) / white)
        for row, white in zip(_TO_XYZ, _WHITE, strict=True)
    )
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))


def _curve(value: float) -> float:
    return math.pow(value, 1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
