"""Reading the small files of sysfs, with the reason when one cannot be read."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from accel_tui.model.devices import absent, denied, failed

if TYPE_CHECKING:
    from pathlib import Path

    from accel_tui.model.devices import Reading


class Unreadable(Exception):  # noqa: N818 - says what is so
    """A file without a value."""

    def __init__(self, path: Path, error: OSError | None = None, words: str | None = None) -> None:
        self.number = None if error is None else error.errno
        """The error number; None when there is a content that is none."""
        super().__init__(words or f"{path}: {error.strerror if error else 'no value'}")

    @property
    def missing(self) -> bool:
        return self.number in (errno.ENOENT, errno.ENOTDIR)

    @property
    def gone(self) -> bool:
        """Whether the driver says that the device behind the file is not there (or not operational)."""
        return self.number in (errno.ENODEV, errno.ENXIO)

    def reading(self, source: str) -> Reading:
        """The status that a reading has for this reason."""
        if self.missing:
            return absent(str(self), source)
        if self.number in (errno.EACCES, errno.EPERM):
            return denied(f"{self}; the file is for root, or for a group of the administrator's choice", source)
        return failed(str(self), source)


def text(path: Path) -> str:
    """The stripped content.

    Raises:
        Unreadable: it is missing, forbidden, or its driver answered with an error.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise Unreadable(path, error) from None


def text_or_none(path: Path) -> str | None:
    """The stripped content, None when there is none."""
    try:
        return text(path) or None
    except Unreadable:
        return None


def number(path: Path) -> int:
    """The content as an integer.

    Raises:
        Unreadable: as for `text`, or it is no integer.
    """
    content = text(path)
    try:
        return int(content)
    except ValueError:
        raise Unreadable(path, words=f"{path} holds {content[:40]!r}, which is no number") from None


def number_or_none(path: Path) -> int | None:
    """The content as an integer, None when there is none."""
    try:
        return number(path)
    except Unreadable:
        return None
