"""Who holds the devices' locks: our own runs from the book, others as far as the lock folder tells."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from accel_tui.keeper import locks
from accel_tui.model.devices import ReservedBy
from accel_tui.model.times import time_text
from accel_tui.supervisor import claims
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accel_tui.supervisor.book import Book

FRESH_SECONDS = 1.0


class Reservations:
    """A picture of the lock folder that is at most about a second old when it is used."""

    def __init__(self, configured: str | None, book: Book, user: str) -> None:
        self._configured = configured
        self._book = book
        self._user = user
        self._foreign: dict[str, ReservedBy] = {}
        self._waiting: dict[str, tuple[claims.Claim, ...]] = {}
        """Key to the claims of other users, as `read` found them last."""
        self._wanted: dict[str, str] = {}
        self._told: set[str] = set()
        self._known = self._cleaned = False
        """Whether the queue has said what it wants, and what an earlier supervisor left was deleted then."""
        self._since: dict[str, float] = {}
        self.claims = claims.Claims()
        self._read_at = -1e9

    def folder(self) -> str:
        """The lock folder, judged anew.

        Raises:
            LockFolderError: there is none that is safe.
        """
        return str(locks.lock_folder(self._configured))

    def paths(self, keys: Iterable[str]) -> list[str]:
        """The lock files of these keys, in the order in which they are taken. Raises as `folder`."""
        keys = sorted(keys)
        folder = self.folder() if keys else ""
        return [str(locks.lock_path(folder, key)) for key in keys]

    @property
    def stale(self) -> bool:
        return time.monotonic() - self._read_at > FRESH_SECONDS

    def read(self, keys: Iterable[str]) -> dict[str, ReservedBy]:
        """Look at the lock files; blocks on the file system, so not for the event loop."""
        found: dict[str, ReservedBy] = {}
        try:
            folder = self.folder()
        except locks.LockFolderError:
            return found
        keys = list(keys)
        known, wanted = self._known, self._wanted  # replaced as a whole by the event loop meanwhile
        self.claims.put(folder, {key: run for key, run in wanted.items() if key in keys})
        self._told = set(wanted)
        if known and not self._cleaned:
            self._cleaned = True
            self.claims.clean(folder)
        self._since = {key: since for key in wanted if (since := self.claims.since(folder, key)) is not None}
        self._waiting = claims.of_others(folder, keys)
        for key in keys:
            holder = locks.holder(str(locks.lock_path(folder, key)))
            if holder is not None:
                claim = {name: sanitise(value, limit=200) for name, value in holder.claim.items()}
                found[key] = ReservedBy(claim.get("run"), holder.user or claim.get("user"), claim.get("since"))
        return found

    def replace(self, found: Mapping[str, ReservedBy]) -> bool:
        """Take over what `read` found; whether others' locks changed."""
        ours = self._ours()
        foreign = {key: by for key, by in found.items() if key not in ours}
        changed = foreign != self._foreign
        self._foreign = foreign
        self._read_at = time.monotonic()
        return changed

    def mark(self, key: str, holder: str | None) -> None:
        """A keeper found this key taken."""
        self._foreign.setdefault(key, ReservedBy(None, holder and sanitise(holder, limit=200), None))

    def want(self, wanted: Mapping[str, str]) -> None:
        """What our runs wait for from now on: key to run; the next `read` tells it to others."""
        self._wanted = dict(wanted)
        self._known = True

    def no_cards(self) -> None:
        """There is nothing here to reserve."""
        self._told, self._cleaned = set(self._wanted), True

    @property
    def claims_stale(self) -> bool:
        """Whether others are told something else than what is wanted."""
        return self._known and (not self._cleaned or set(self._wanted) != self._told)

    def awaited(self, minutes: float) -> dict[str, str]:
        """Key to words of another user who has waited for it that long, and for longer than we have."""
        found = {}
        for key, others in self._waiting.items():
            ours = self._since.get(key, time.time())
            if others[0].since < min(ours, time.time() - minutes * 60):
                found[key] = claims.words(others[0])
        return found

    def awaited_by(self, key: str) -> tuple[ReservedBy, ...]:
        """For the inventory; must not block."""
        return tuple(ReservedBy(one.run, one.user, time_text(one.since)) for one in self._waiting.get(key, ()))

    def foreign(self) -> dict[str, str]:
        """Key to words of who holds it, for those that are not our runs'."""
        return {key: self._words(by) for key, by in self._foreign.items()}

    def reserved_by(self, key: str) -> ReservedBy | None:
        """For the inventory; must not block."""
        return self._ours().get(key) or self._foreign.get(key)

    def _ours(self) -> dict[str, ReservedBy]:
        return {
            card: ReservedBy(entry.id, self._user, entry.run.started)
            for entry in self._book.occupying()
            for card in entry.cards
        }

    @staticmethod
    def _words(by: ReservedBy) -> str:
        who = by.user or "somebody"
        return f"{who} (run {by.run})" if by.run else who
