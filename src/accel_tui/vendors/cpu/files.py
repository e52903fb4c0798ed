"""Reading the small files of `/proc` and `/sys`, with the reason when one cannot be read."""

from __future__ import annotations

from pathlib import Path


class Unreadable(Exception):  # noqa: N818 - says what is so
    """A file without a value; `denied` tells a missing right from a missing file."""

    def __init__(self, path: Path, reason: str, *, denied: bool = False) -> None:
        super().__init__(reason)
        self.path, self.reason, self.denied = path, reason, denied


def text(path: Path) -> str:
    """The stripped content.

    Raises:
        Unreadable: it is missing, forbidden, or its driver answered with an error.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except PermissionError:
        raise Unreadable(path, f"{path} may not be read by this account", denied=True) from None
    except (FileNotFoundError, NotADirectoryError):
        raise Unreadable(path, f"{path} does not exist") from None
    except OSError as error:
        raise Unreadable(path, f"{path}: {error.strerror or error}") from None


def number(path: Path) -> int:
    """The content as an integer.

    Raises:
        Unreadable: as for `text`, or it is no integer.
    """
    content = text(path)
    try:
        return int(content)
    except ValueError:
        raise Unreadable(path, f"{path} holds {content[:40]!r}, not a number") from None


def number_or_none(path: Path) -> int | None:
    """The content as an integer, None when there is none."""
    try:
        return number(path)
    except Unreadable:
        return None


def text_or_none(path: Path) -> str | None:
    """The stripped content, None when it cannot be read or is empty."""
    try:
        return text(path) or None
    except Unreadable:
        return None


def cpu_list(content: str) -> tuple[int, ...]:
    """The numbers of a kernel list such as `0-3,8`; what is not a number is left out."""
    found: list[int] = []
    for part in content.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            found.extend(range(int(first), min(int(last or first), int(first) + 65535) + 1))
    return tuple(sorted(set(found)))
