"""Queueing a draft: planned anew, sent, and sent again with the answers to what the checks ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from accel_tui.client.connection import Client
from accel_tui.model.errors import AccelError, CheckRefusedError
from accel_tui.model.plans import CheckLevel
from accel_tui.protocol.messages import Submission
from accel_tui.tui.background import in_thread
from accel_tui.tui.board import Draft
from accel_tui.tui.panes.job import outlook
from accel_tui.tui.panes.job.outlook import Outlook
from accel_tui.tui.screens.consent import ConsentDialog

if TYPE_CHECKING:
    from accel_tui.tui.panes.job import JobPane


@dataclass(frozen=True)
class _Order:
    """What is to be queued, and what was answered so far."""

    verb: str
    draft: Draft
    found: Outlook
    yes: bool = False
    overrides: tuple[str, ...] = ()


async def queue(pane: JobPane, verb: str) -> None:
    """Queue what the board says now; `verb` is what the person asked for."""
    draft, desk = pane.board.draft, pane.services.desk
    asked = None if draft is None else outlook.question(draft, pane.board, pane.services)
    if draft is None or asked is None:
        return
    desk.busy("launch", "queueing")
    try:
        found = await in_thread("accel-tui plans", lambda: outlook.planned(asked))
    finally:
        desk.busy("launch", None)
    if found.fault is not None:
        desk.say(found.fault)
    else:
        await _send(pane, _Order(verb, draft, found))


async def _send(pane: JobPane, order: _Order) -> None:
    desk = pane.services.desk
    try:
        wanted = outlook.submission(order.found, order.draft, yes=order.yes, overrides=order.overrides)
    except AccelError as fault:
        desk.say(fault)
        return
    answer = await pane.asked(lambda client: _offered(client, wanted), about="launch", word="queueing")
    if isinstance(answer, CheckRefusedError):
        _ask(pane, order, answer)
    elif answer is not None:
        pane.queued(order.draft, str(answer["id"]))


def _ask(pane: JobPane, order: _Order, refused: CheckRefusedError) -> None:
    stopping = (CheckLevel.REFUSAL,) if order.yes else (CheckLevel.REFUSAL, CheckLevel.ASK)
    open_ones = [one for one in refused.checks if one.level in stopping and one.id not in order.overrides]
    if not open_ones:
        pane.services.desk.say(refused)
        return

    def consented(overrides: tuple[str, ...] | None) -> None:
        if overrides is not None:
            again = replace(order, yes=True, overrides=(*order.overrides, *overrides))
            pane.run_worker(_send(pane, again), group="submit", exclusive=True)

    pane.app.push_screen(ConsentDialog(order.draft.name, open_ones, order.verb), consented)


def _offered(client: Client, wanted: Submission) -> Any:
    """The answer, or the refusal of the checks, which is asked about."""
    try:
        return client.submit(wanted)
    except CheckRefusedError as refused:
        return refused
