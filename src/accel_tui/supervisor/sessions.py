"""CPU slots of `exec` sessions: programs on somebody's terminal that are no runs and take their turn all the same.

A session holds a lock on a file of its own in `sessions/` of the state folder, which its program inherits: the slot is
taken until both are gone, whatever happens to supervisors meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.keeper.locks import held
from accel_tui.model.errors import NotPossibleError, UsageError
from accel_tui.protocol.paths import SESSIONS_FOLDER
from accel_tui.supervisor.queue import Occupying

if TYPE_CHECKING:
    from accel_tui.supervisor.audit import Peer
    from accel_tui.supervisor.book import Entry
    from accel_tui.supervisor.service import Service

_NAME = re.compile(r"exec-(\d{1,10})-[0-9a-f]{8}\.lock")


class Sessions:
    """The sessions that hold a slot."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._folder = service.state / SESSIONS_FOLDER
        self._names: set[str] = set()

    def begin(self, name: str, *, by: Peer) -> None:
        """Give a session, which holds its lock already, a slot; it asks again when there is none.

        Raises:
            NotPossibleError: every slot is taken, or a queued run that came first waits for one.
        """
        if _NAME.fullmatch(name) is None or not held(str(self._folder / name)):
            raise UsageError("a session must hold its lock before it asks")
        if name in self._names:
            return
        service = self._service
        first = next((one for one in service.scheduler.line() if _wants_slot(one)), None)
        taken = sum(entry.slots for entry in service.book.occupying()) + len(self._names)
        if first is not None:
            raise NotPossibleError(f"a CPU slot, wanted by the earlier run {first.run.name} ({first.id})")
        if taken >= service.settings.cpu_slots:
            raise NotPossibleError(f"a CPU slot: {service.settings.cpu_slots} in all (queue.cpu_slots)")
        self._names.add(name)
        service.audit.write("exec", None, by, session=name)

    def occupying(self) -> list[Occupying]:
        """The sessions as the queue sees them."""
        return [Occupying(name.removesuffix(".lock"), "exec", slots=1, counts=False) for name in sorted(self._names)]

    async def adopt(self) -> None:
        """Find the sessions that go on from before."""
        self._names |= await asyncio.to_thread(self._living)

    async def look(self) -> None:
        """Forget those that ended, whose slot then is free."""
        if not self._names:
            return
        living = await asyncio.to_thread(self._living)
        if gone := self._names - living:
            self._names -= gone
            self._service.scheduler.wake()

    def _living(self) -> set[str]:
        try:
            names = [path.name for path in Path(self._folder).iterdir() if _NAME.fullmatch(path.name)]
        except OSError:
            return set()
        found = set()
        for name in names:
            if held(str(self._folder / name)):
                found.add(name)
            else:
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()  # left by a session that was killed
        return found


def _wants_slot(entry: Entry) -> bool:
    """Whether it waits for nothing but a slot."""
    wants = entry.wants
    return wants is not None and wants.slots > 0 and wants.held is None and wants.after is None and not wants.pool
