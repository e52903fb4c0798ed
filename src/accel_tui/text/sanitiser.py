"""Foreign text made safe to print: pure functions, standard library only.

Apply them to job output, device and file names, environments, exception texts, lock claims and window titles. What
comes out holds no code point below 0x20 (the block form keeps the newline), none in 0x7f-0x9f, no bidi control and no
lone surrogate, and sanitising it again changes nothing.
"""

from __future__ import annotations

from accel_tui.text.controls import (
    FORBIDDEN,
    LONE_JOINER,
    REPLACEMENT,
    SEQUENCE,
    STACKED_MARKS,
    allowed_style,
)

ELLIPSIS = "…"
"""Stands at the end of what was cut."""

TAB_WIDTH = 8
_RESET = "\x1b[0m"


def sanitise(text: str | bytes, *, limit: int = 4096, sgr: bool = False) -> str:
    """One line of foreign text as it may be printed.

    Args:
        text: Bytes are taken as UTF-8, broken ones replaced. Only what follows the last carriage return counts, as on a
            terminal; line ends at the end are dropped, a newline inside is replaced.
        limit: Most characters that are returned, colours not counted; what is cut is marked by an ellipsis.
        sgr: Keep colours and weights, rewritten by us and closed at the end. Without it no escape sequence is left.
    """
    if isinstance(text, str) and len(text) <= limit and text.isascii() and text.isprintable():
        return text  # nearly every line: nothing to do
    line, cut = _last_frame(text, limit)
    if not sgr:
        return _shorten(_clean(SEQUENCE.sub("", line)).expandtabs(TAB_WIDTH), limit, cut)
    return _styled(line, limit, cut)


def sanitise_block(text: str | bytes, *, limit: int = 4096, lines: int = 2000) -> str:
    """Text of several lines, such as a traceback, each line as `sanitise` gives it and joined by newlines.

    Args:
        limit: Most characters of a line.
        lines: Most lines; of a longer text the last ones are kept, since they hold the message.
    """
    parts: list[str | bytes] = [*(text.rsplit(b"\n", lines) if isinstance(text, bytes) else text.rsplit("\n", lines))]
    if len(parts) > lines:
        parts = [ELLIPSIS, *parts[-lines + 1 :]] if lines > 1 else parts[-lines:]
    return "\n".join(sanitise(part, limit=limit) for part in parts)


def _last_frame(text: str | bytes, limit: int) -> tuple[str, bool]:
    """What follows the last carriage return, and whether it had to be cut before it was looked at."""
    if isinstance(text, bytes):
        text = text.rstrip(b"\r\n")
        start = text.rfind(b"\r") + 1
        # Sequences may take most of a line, so more than `limit` is examined, but never a whole gigabyte.
        window = text[start : start + 4 * _window(limit)]
        line, cut = window.decode("utf-8", "replace"), start + len(window) < len(text)
    else:
        text = text.rstrip("\r\n")
        line, cut = text[text.rfind("\r") + 1 :], False
    return line[: _window(limit)], cut or len(line) > _window(limit)


def _window(limit: int) -> int:
    return 4 * limit + 4096


def _clean(text: str) -> str:
    text = FORBIDDEN.sub(REPLACEMENT, text)
    if text.isascii():
        return text
    return LONE_JOINER.sub(REPLACEMENT, STACKED_MARKS.sub(r"\1", text))


def _shorten(text: str, limit: int, cut: bool) -> str:
    if len(text) > limit or (cut and not text.endswith(ELLIPSIS)):
        return text[: max(limit - 1, 0)] + ELLIPSIS[:limit]
    return text


def _styled(line: str, limit: int, cut: bool) -> str:
    """`line` with its colours rewritten; the limit and the tab stops count visible characters alone."""
    pieces: list[str] = []
    column, end, style_open = 0, 0, False
    for match in [*SEQUENCE.finditer(line), None]:
        stop = len(line) if match is None else match.start()
        last = match is None or column >= limit
        indent = " " * (column % TAB_WIDTH)
        visible = (indent + _clean(line[end:stop])).expandtabs(TAB_WIDTH)[len(indent) :]
        if column + len(visible) > limit or (match is None and cut):
            visible, last = _shorten(visible, limit - column, cut=True), True
        pieces.append(visible)
        column += len(visible)
        if last or match is None:
            break
        end = match.end()
        style = match["sgr"] is not None and allowed_style(match["sgr"])
        if style:
            pieces.append(f"\x1b[{style}m")
            style_open = style != "0"
    return "".join(pieces) + (_RESET if style_open else "")
