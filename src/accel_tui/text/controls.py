"""What is recognised as a control sequence, and what stands in place of a character that must not be shown."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

# A string sequence (OSC, DCS, SOS, PM, APC, screen's title) ends at BEL, ST, CAN or SUB; a bare ESC or the end of the
# text ends it too, so that an unterminated one hides no more than a terminal would.
_STRING = r"(?:\x1b[\]PX^_k]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\x18\x1a]*(?:\x07|\x1b\\|\x9c|[\x18\x1a])?"
# The Linux console's palette sequences are OSC without a terminator: they must not take the rest of the line with them.
_LINUX_PALETTE = r"\x1b\](?:P[0-9A-Fa-f]{7}|R)"
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_SGR = r"(?:\x1b\[|\x9b)(?P<sgr>[0-9;:]*)m"
_ESCAPE = r"\x1b(?:[ -/]*[0-~])?"

SEQUENCE = re.compile(f"{_SGR}|{_LINUX_PALETTE}|{_STRING}|{_CSI}|{_ESCAPE}")
"""Every control sequence in 7- and 8-bit form, whole or broken; only the parameters of SGR are captured. It matches
every ESC, so removing its matches in one pass cannot join the rest into a new sequence."""

_HIDDEN = (
    "\x00-\x08\x0a-\x1f\x7f-\x9f"  # C0 but the tab, DEL, C1
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"  # soft hyphen, Arabic letter mark, fillers without a glyph
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line separators, bidi overrides and isolates
    "\ud800-\udfff\ufeff\ufff0-\ufffb\ufffe\uffff"  # lone surrogates, byte order mark, interlinear, noncharacters
    "\U000e0000-\U000e0fff"  # tags and invisible variation selectors
)
FORBIDDEN = re.compile(f"[{_HIDDEN}]")
"""One character that a terminal might obey, or that would make the shown text lie about the real one."""

_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
STACKED_MARKS = re.compile(f"([{_MARKS}]{{4}})[{_MARKS}]+")
"""More combining marks on one character than any script needs: they would paint over the lines around."""

LONE_JOINER = re.compile("(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])")
"""A zero-width joiner beside ASCII: invisible there, while scripts and emoji need it between their own characters."""


def allowed_style(parameters: str) -> str | None:
    """The SGR parameters that may reach a terminal: colours, weight, underline, reverse; no blinking, no concealment.

    Returns:
        The parameters joined by `;`, `0` for a reset, or None when nothing is left of them.
    """
    codes = [code or "0" for code in parameters.replace(":", ";").split(";")]
    if ":" in parameters:
        codes = _without_subparameters(parameters)
    kept: list[str] = []
    position = 0
    while position < len(codes):
        code = codes[position]
        if code in ("38", "48"):
            colour = _colour(codes[position : position + 5])
            if colour is None:
                break  # what follows a broken colour cannot be told apart from its parts
            kept += colour
            position += len(colour)
            continue
        if len(code) <= 3 and _is_plain_style(int(code)):
            kept.append(str(int(code)))
        position += 1
    return ";".join(kept) or None


def _without_subparameters(parameters: str) -> list[str]:
    """The codes of a sequence that uses colons; `38:2::R:G:B` becomes the common form, others are dropped."""
    codes: list[str] = []
    for group in parameters.split(";"):
        parts = group.split(":")
        if parts[0] in ("38", "48") and len(parts) == 6 and parts[1] == "2":
            codes += [parts[0], "2", *(part or "0" for part in parts[3:])]
        elif parts[0] in ("38", "48") or len(parts) == 1:
            codes += [part or "0" for part in parts]
        elif parts[0] == "4" and parts[1] != "0":
            codes.append("4")
    return codes


def _is_plain_style(code: int) -> bool:
    return code in (0, 1, 2, 3, 4, 7, 9, 21, 22, 23, 24, 27, 29) or 30 <= code <= 49 or 90 <= code <= 107


def _colour(codes: list[str]) -> list[str] | None:
    """The leading 256-colour or true-colour group of `codes`, or None when it is broken or out of range."""
    length = {"5": 3, "2": 5}.get(codes[1] if len(codes) > 1 else "")
    if length is None or len(codes) < length:
        return None
    if any(len(code) > 3 or int(code) > 255 for code in codes[2:length]):
        return None
    return codes[:length]
