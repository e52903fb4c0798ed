"""Reading the small files of sysfs and procfs: a value, or None, or the reason why there is none."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, absent, denied, failed, ok

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


_MOST = 1 << 16


@dataclass(frozen=True)
class Found:
    """What a look at a file brought: text, or the error that kept it."""

    path: Path
    text: str | None = None
    error: OSError | None = None

    @property
    def number(self) -> int | None:
        """The text as an integer in any base that the kernel writes, None when it is none."""
        try:
            return None if self.text is None else int(self.text, 0)
        except ValueError:
            return None

    def reading(self, source: str, worth: Callable[[int], float | None], unit: str) -> Reading:
        """The number as a reading; `worth` gives its value in the reading's unit, None where it means nothing."""
        if isinstance(self.error, PermissionError):
            return denied(f"{self.path} may not be read by this account: it needs the read right on that file", source)
        if isinstance(self.error, FileNotFoundError | NotADirectoryError):
            return absent(f"{self.path} does not exist", source)
        if self.error is not None:
            return failed(f"{self.path}: {self.error.strerror or self.error}", source)
        number = self.number
        value = None if number is None else worth(number)
        if value is None:
            return failed(f"{self.path} holds {(self.text or '')[:40]!r}, not {unit}", source)
        return ok(value, source)


def look(path: Path) -> Found:
    """The stripped content of a small file; without the layers of a file object, as it is done hundreds of times."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return Found(path, os.read(descriptor, _MOST).decode("utf-8", "replace").strip())
        finally:
            os.close(descriptor)
    except OSError as error:
        return Found(path, error=error)


def text(path: Path) -> str | None:
    """The stripped content, None when it cannot be read or is empty."""
    return look(path).text or None


def number(path: Path) -> int | None:
    """The content as an integer, None when there is none."""
    return look(path).number


def first(paths: Iterable[Path]) -> Found | None:
    """The first of these files that is there, readable or not; None where none is."""
    missing = (FileNotFoundError, NotADirectoryError)
    return next((found for found in map(look, paths) if not isinstance(found.error, missing)), None)


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, sorted by name; nothing when it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
