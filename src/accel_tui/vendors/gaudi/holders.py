"""Who has a compute node open, from the links below `/proc/PID/fd`: the method of the vendor's own runtime.

Control nodes (`accel_controlDN`) do not count: many may read them. Only processes of this account are readable without
root; what others hold is not visible here.
"""

from __future__ import annotations

import os
import pwd
import time
from typing import TYPE_CHECKING

from accel_tui.model.devices import Holder
from accel_tui.vendors.gaudi.files import text_or_none
from accel_tui.vendors.gaudi.tree import NODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_SHARE = 0.005
"""At most this part of the time goes into scans: a host may have thousands of processes."""
_LEAST_SECONDS = 1.0
_COMMAND_LENGTH = 200


class Scanner:
    """Looks through the processes, at a pace that follows from what a look costs; in between knows the last answer."""

    def __init__(self, proc: Path, dev: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._proc, self._clock = proc, clock
        roots = dict.fromkeys((str(dev), os.path.realpath(dev), "/dev"))
        self._roots = tuple(root.rstrip("/") + "/" for root in roots)
        self._found: dict[int, list[Holder]] = {}
        self._next = float("-inf")

    def holders(self, keys: Mapping[int, str]) -> dict[str, list[Holder]]:
        """Holders by device key; `keys` by number of the node."""
        now = self._clock()
        if now >= self._next or self._ended():
            self._found = self._scan()
            took = self._clock() - now
            self._next = now + max(_LEAST_SECONDS, took / _SHARE)
        return {keys[number]: held for number, held in self._found.items() if number in keys}

    def _ended(self) -> bool:
        """Whether one of the known holders is gone: then it may be free sooner than the next look is due."""
        pids = {holder.pid for held in self._found.values() for holder in held}
        return any(not (self._proc / str(pid)).exists() for pid in pids)

    def _scan(self) -> dict[int, list[Holder]]:
        found: dict[int, list[Holder]] = {}
        try:
            names = [name for name in (entry.name for entry in os.scandir(self._proc)) if name.isdecimal()]
        except OSError:
            return found
        for name in names:
            for number in self._open_nodes(f"{self._proc}/{name}/fd"):
                found.setdefault(number, []).append(self._holder(int(name)))
        return found

    def _open_nodes(self, folder: str) -> set[int]:
        numbers: set[int] = set()
        try:
            links = [entry.name for entry in os.scandir(folder)]
        except OSError:  # another user's, or it ended
            return numbers
        for link in links:
            try:
                target = os.readlink(f"{folder}/{link}")  # noqa: PTH115 - thousands in one look
            except OSError:
                continue
            for root in self._roots:
                if target.startswith(root):
                    match = NODES.fullmatch(target[len(root) :].removesuffix(" (deleted)"))
                    if match is not None:
                        numbers.add(int(match.group(1)))
        return numbers

    def _holder(self, pid: int) -> Holder:
        folder = self._proc / str(pid)
        try:
            raw = (folder / "cmdline").read_bytes()
        except OSError:
            raw = b""
        words = [part.decode(errors="replace") for part in raw.split(b"\0") if part]
        command = " ".join(words)[:_COMMAND_LENGTH] or text_or_none(folder / "comm")
        return Holder(pid, self._user(folder), command)

    @staticmethod
    def _user(folder: Path) -> str | None:
        number: int | None = None
        for line in (text_or_none(folder / "status") or "").splitlines():
            name, _, rest = line.partition(":")
            first = rest.split()[:1]
            if name == "Uid" and first and first[0].isdecimal():
                number = int(first[0])
        try:
            number = folder.stat().st_uid if number is None else number
        except OSError:
            return None
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)
