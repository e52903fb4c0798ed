"""Which rank said a line: the prefixes that torchrun and torch put in front."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEE = re.compile(r"\[default(\d{1,5})\]:")
_RANK = re.compile(r"\[rank(\d{1,5})\]:(?:\[rank\1\]:)? ?")
_OURS = re.compile(r"\[rank (\d{1,5})\] ")


def split_rank(line: str) -> tuple[int | None, str]:
    """The rank that a line names, and the line without its prefixes.

    torchrun's `[default1]:` counts the processes of one host; torch's own `[rank1]:` decides where both stand. Our
    plans name torchrun's prefix `[rank1]:` too, so the same one may stand twice. A line
    without a prefix has no rank: it comes from a launcher, or from the only process.
    """
    local = _TEE.match(line)
    rest = line[local.end() :] if local else line
    own = _RANK.match(rest) or (None if local else _OURS.match(rest))
    if own:
        return int(own[1]), rest[own.end() :]
    return (int(local[1]), rest) if local else (None, line)


def merged(line: str) -> str:
    """The line as the merged view of all ranks shows it: `[rank 1] …`, and unchanged without a rank."""
    rank, text = split_rank(line)
    return line if rank is None else f"[rank {rank}] {text}"


def of_rank(line: str, wanted: int) -> str | None:
    """The line without its prefix when that rank said it, else None; what names no rank counts as said by rank 0."""
    rank, text = split_rank(line)
    return text if (rank or 0) == wanted else None


_NAMED = re.compile(rb"^(?:\[default(\d{1,5})\]:)?(?:\[rank(\d{1,5})\]:)?(?:(?<=^)\[rank (\d{1,5})\] )?", re.MULTILINE)


def ranks_in(block: bytes) -> set[int]:
    """The ranks that lines of `block` name."""
    found = (match[2] or match[1] or match[3] for match in _NAMED.finditer(block))
    return {int(number) for number in found if number}


class OfRank:
    """Finds the lines of one rank, as `of_rank` does; a `Finder`."""

    def __init__(self, rank: int) -> None:
        said = (
            rb"^(?:\[default\d{1,5}\]:)?\[rank0{0,4}%d\]:|^\[default0{0,4}%d\]:(?!\[rank\d{1,5}\]:)|^\[rank 0{0,4}%d\] "
        )
        unsaid = rb"|^(?!\[default\d{1,5}\]:|\[rank\d{1,5}\]:|\[rank \d{1,5}\] )" if rank == 0 else b""
        self._pattern = re.compile(said % (rank, rank, rank) + unsaid, re.MULTILINE)

    def hits(self, block: bytes) -> Iterator[tuple[int, int]]:
        """As `logs.search.Finder` says."""
        for match in self._pattern.finditer(block):
            if match.start() < len(block):
                yield match.start(), match.end()
