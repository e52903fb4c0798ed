"""How a stop goes: the steps of the keeper with their clock times. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from accel_tui.client.records import Rank
from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_seconds

WORKER_KINDS = ("train", "generate")
"""Kinds whose worker saves before it ends."""


@dataclass(frozen=True)
class Stopping:
    """What is known of a stop. Times are seconds since the epoch."""

    asked: float | None
    """When it was asked for; None before that."""
    forced: float | None
    """When it was asked to be forced."""
    save_seconds: float
    grace_seconds: float


@dataclass(frozen=True)
class Step:
    """One step of the escalation."""

    word: str
    what: str
    state: str
    """`done`, `now`, `later` or `skipped`."""
    begins: float | None = None
    ends: float | None = None
    after: float | None = None
    """Seconds from the request, while nothing was asked yet."""


def steps(run: Run, stopping: Stopping, now: float) -> list[Step]:
    """Asked, saving or ending, forced, ended: what was done, what goes on, what comes when."""
    plan = _plan(run, stopping)
    if stopping.asked is None:
        return [Step(word.removeprefix("then "), what, "later", after=after) for word, what, after, _ in plan]
    ended = None if run.state is not RunState.FINISHED else now if run.ended is None else time_seconds(run.ended)
    found = [Step("asked", "request written for the keeper", "done", stopping.asked)]
    for word, what, after, lasts in plan:
        begins, ends = stopping.asked + after, stopping.asked + after + lasts
        last = word == "then forced"
        if stopping.forced is not None and last:
            begins = stopping.forced
        found.append(Step(word, what, _state(begins, ends, now, ended, stopping.forced, last=last), begins, ends))
    found.append(Step("then ended", "devices given back", "later" if ended is None else "done", ended))
    return found


@dataclass(frozen=True)
class Mark:
    """Neighbouring ranks that stand alike."""

    ranks: str
    """`0`, or `1-7`."""
    sign: str
    """A name of the table of glyphs."""
    role: str
    word: str


def marks(ranks: Sequence[Rank]) -> list[Mark]:
    """Every rank with its own mark; neighbours that stand alike share one."""
    found = []
    for (word, sign, role), group in groupby(ranks, _mark):
        numbers = [rank.number for rank in group]
        name = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
        found.append(Mark(name, sign, role, word))
    return found


def _mark(rank: Rank) -> tuple[str, str, str]:
    if rank.ended:
        return ("ended", "passed", "ok") if rank.good else ("failed", "failed", "error")
    return rank.phase, "running", "accent"


def _plan(run: Run, stopping: Stopping) -> list[tuple[str, str, float, float]]:
    """Word, what happens, seconds from the request, seconds that it lasts."""
    save, grace = stopping.save_seconds, stopping.grace_seconds
    if run.kind not in WORKER_KINDS:
        ending = ("ending", "SIGTERM to the main process", 0.0, grace)
        return [ending, ("then forced", "SIGKILL until none is left", grace, 0.0)]
    return [
        ("saving", "SIGTERM: all ranks save and end", 0.0, save),
        ("then asked", "SIGTERM to every process", save, grace),
        ("then forced", "SIGKILL until none is left", save + grace, 0.0),
    ]


def _state(begins: float, ends: float, now: float, ended: float | None, forced: float | None, *, last: bool) -> str:
    if ended is not None:
        return "done" if begins <= ended and (forced is None or last or begins < forced) else "skipped"
    if forced is not None and not last:
        return "done" if begins < forced else "skipped"
    if now < begins:
        return "later"
    return "now" if last or now < ends else "done"
