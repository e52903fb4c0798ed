"""What matches, marked in a line of pieces. Pure."""

from __future__ import annotations

import re
from itertools import pairwise

from accel_tui.tui.widgets.pieces import Cell, Piece


def marked(content: Cell, pattern: re.Pattern[str], *, current: bool) -> Cell:
    """`content` with what matches drawn as hits; in the current line the first match is the current hit."""
    text = "".join(piece.text for piece in content)
    spans = [match.span() for match in pattern.finditer(text) if match.end() > match.start()]
    if not spans:
        return content
    pieces: list[Piece] = []
    start = 0
    for piece in content:
        end = start + len(piece.text)
        cuts = sorted({start, end, *(place for span in spans for place in span if start < place < end)})
        for one, other in pairwise(cuts):
            hit = next((number for number, span in enumerate(spans) if span[0] <= one < span[1]), None)
            part = piece._replace(text=text[one:other])
            if hit is not None:
                now = current and hit == 0
                part = part._replace(role="on_accent" if now else "text", on="hit_now" if now else "hit", bold=now)
            pieces.append(part)
        start = end
    return tuple(pieces)
