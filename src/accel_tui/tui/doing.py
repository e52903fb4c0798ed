"""How a verb of the table is done: one door, which says why not where it cannot be done."""

from __future__ import annotations

import inspect
from typing import Any

from textual.dom import DOMNode

from accel_tui.client.connection import Client
from accel_tui.model.errors import AccelError
from accel_tui.tui.bindings import KEYS
from accel_tui.tui.board import Board, Level
from accel_tui.tui.services import Services


class Doer(DOMNode):
    """A pane or screen with verbs: `run.stop` is its method `do_run_stop`."""

    services: Services

    @property
    def board(self) -> Board:
        """The newest board."""
        return self.services.desk.board

    def why_not(self, key: str) -> str | None:
        """Why the verb cannot be done right now; None when it can. Add reasons of your own, then ask this one."""
        return self.board.verbs_off() if KEYS[key].supervisor else None

    async def action_do(self, key: str) -> None:
        """Do the verb, or say why not."""
        reason = self.why_not(key)
        if reason is not None:
            self.services.desk.say(f"{KEYS[key].word}: {reason}", Level.WARNING)
            return
        result = getattr(self, "do_" + key.replace(".", "_"))()
        if inspect.isawaitable(result):
            await result

    async def asked(self, question: Any, *, about: str | None = None, word: str = "asking") -> Any:
        """The supervisor's answer to `question(client)`, or None after its refusal was told.

        Call it in a worker only. While it waits, `board.busy[about]` is `word`.
        """
        desk = self.services.desk
        if about is not None:
            desk.busy(about, word)
        try:
            return await self.services.asking.ask(question)
        except AccelError as error:
            desk.say(error)
            return None
        finally:
            if about is not None:
                desk.busy(about, None)


__all__ = ["Client", "Doer"]
