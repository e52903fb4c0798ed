"""What a device is doing and whether it can be picked: one answer for table, explanation and groups. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accel_tui.model.devices import Device, DeviceState, DeviceView, Holder, Reading, ReadingStatus
from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_seconds
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import duration
from accel_tui.vendors.gaudi.generations import hidden_use_bytes

_STATES: Mapping[DeviceState, tuple[str, str, str, str]] = {
    DeviceState.RESETTING: ("releasing", "warn", "resetting", "the card is being reset"),
    DeviceState.RELEASING: ("releasing", "warn", "releasing", "memory not empty yet"),
    DeviceState.DISABLED: ("failed", "error", "disabled", ""),
    DeviceState.NEEDS_RESET: ("failed", "error", "needs reset", ""),
    DeviceState.LOST: ("device-lost", "error", "lost", ""),
    DeviceState.NOT_DRIVEN: ("cannot-pick", "muted", "no driver", "seen on PCI only"),
    DeviceState.NO_NODE: ("cannot-pick", "muted", "no device node", "the driver made none"),
    DeviceState.NO_ACCESS: ("cannot-pick", "muted", "no access", "this account may not open it"),
    DeviceState.NOT_YOURS: ("cannot-pick", "muted", "not yours", "outside the allocation or container"),
    DeviceState.UNKNOWN: ("warning", "warn", "state unknown", ""),
}
"""Sign, role, words and detail of every state but `operational`."""


@dataclass(frozen=True)
class Standing:
    """A device at one moment."""

    sign: str
    """A name of the table of glyphs."""
    role: str
    """Of the words; the sign has its own."""
    words: str
    detail: str = ""
    since: float | None = None
    """Seconds since the epoch: since when it is so; None where nobody knows."""
    reason: str | None = None
    """Why it cannot be picked; None when it can."""
    run: str | None = None
    """The run of ours that has it or waits for it."""
    sign_role: str = ""
    doubt: bool = False
    """Whether it may be picked and is not proposed: nobody is seen to have it, and yet it may be in use."""

    @property
    def free(self) -> bool:
        """Whether it can be picked."""
        return self.reason is None

    @property
    def offered(self) -> bool:
        """Whether it is counted as free and proposed, as `auto` would take it."""
        return self.free and not self.doubt


def standing(view: DeviceView, board: Board, user: str, idle_since: float | None = None) -> Standing:
    """What `view` is doing.

    Args:
        user: The person's own account.
        idle_since: Since when a held card has done nothing, where that was seen.
    """
    device = view.device
    if device.state is not DeviceState.OPERATIONAL and device.vendor != "cpu":
        return _state(device)
    if device.vendor == "cpu":
        return _cpu(board)
    ours = _run_on(device.key, board)
    age = stale_seconds(view)
    if age is not None:
        words = f"stale {duration(age)}"
        if not _answers(view):
            return Standing("stale", "warn", words, _stale_detail(view), reason=f"{words}: it does not answer")
        # A tool or library that hangs costs its readings: another source vouches for the card, and `auto` takes it.
        if ours is None and not view.holders and view.reserved_by is None:
            return Standing("stale", "warn", words, _stale_detail(view))
    if ours is not None:
        return _ours(device, ours)
    if view.holders:
        return _held(view.holders, user, idle_since, board)
    if view.reserved_by is not None:
        who = view.reserved_by.user or "another user"
        since = None if view.reserved_by.since is None else _seconds(view.reserved_by.since)
        return Standing("other-user", "foreign", who, "has reserved it", since, f"reserved by {who}")
    if device.vendor == "gaudi" and hidden_use_bytes(view) is not None:
        return Standing("warning", "warn", "in use?", "holder hidden or stale value", doubt=True)
    if device.key in board.picks:
        job = "" if board.draft is None else f" for {board.draft.name}"
        return Standing("free", "accent", f"picked{job}")
    return Standing("free", "muted", "free")


def _state(device: Device) -> Standing:
    sign, role, words, detail = _STATES[device.state]
    told = str(device.details.get("status_text") or detail)
    if told.lower() == words:
        told = ""
    return Standing(sign, role, words, told, reason=f"{words}: {told}" if told else words)


def _cpu(board: Board) -> Standing:
    runs = [run for run in board.live if "cpu" in run.devices and run.state is not RunState.QUEUED]
    if not runs:
        picked = "cpu" in board.picks
        return Standing("free", "accent" if picked else "muted", "picked" if picked else "shareable", "no runs")
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    return Standing("running", "text", runs[0].name + more, "shareable", _started(runs[0]), run=runs[0].id)


def _run_on(key: str, board: Board) -> Run | None:
    """The live run of ours that has this device, all of it or a tile; a queued one only when it was given to it."""
    runs = [run for run in board.live if {key, _card(key)} & {*run.devices} or key in map(_card, run.devices)]
    occupying = [run for run in runs if run.state is not RunState.QUEUED]
    view = board.device(key)
    if occupying:
        return occupying[0]
    claim = None if view is None or view.reserved_by is None else view.reserved_by.run
    return next((run for run in runs if run.id == claim), None)


def _card(key: str) -> str:
    return key.partition("#")[0]


def _ours(device: Device, run: Run) -> Standing:
    reason = f"{run.name} has it"
    if run.state in (RunState.QUEUED, RunState.PREPARING):
        reason = f"reserved for {run.name}"
        return Standing("reserved", "accent", "reserved", f"{run.name}, next in queue", reason=reason, run=run.id)
    if run.state is RunState.STOPPING:
        return Standing("releasing", "warn", "stopping", run.name, _started(run), f"{run.name} is stopping", run=run.id)
    detail = ""
    if len(run.devices) > 1 and device.key in run.devices:
        detail = f"rank {run.devices.index(device.key)}"
    return Standing("running", "text", run.name, detail, _started(run), reason, run=run.id)


def _held(holders: tuple[Holder, ...], user: str, idle_since: float | None, board: Board) -> Standing:
    first = holders[0]
    more = f", {len(holders)} processes" if len(holders) > 1 else f", pid {first.pid}"
    if idle_since is not None:
        who = first.user or "owner hidden"
        words = f"idle-held by {who} for {duration(board.now - idle_since)}"
        return Standing("idle-held", "warn", "idle-held", who + more, idle_since, words)
    if first.user is None:
        return Standing("other-user", "foreign", "held, owner hidden", more[2:], reason="held, its owner is hidden")
    if first.user == user:
        detail = "not a run" + more
        return Standing(
            "running", "text", "yours", detail, reason=f"held by your process {first.pid}", sign_role="text"
        )
    return Standing("other-user", "foreign", first.user, "other user" + more, reason=f"held by {first.user}")


def stale_seconds(view: DeviceView) -> float | None:
    """How old its newest reading is when its source fell silent; None while it answers."""
    readings = [one for one in view.readings.values() if one.status is not ReadingStatus.ABSENT]
    stale = [one for one in readings if one.status is ReadingStatus.STALE]
    if not stale or _answers(view):
        utilization = view.readings.get("utilization_percent")
        if utilization is None or utilization.status is not ReadingStatus.STALE:
            return None
    return min((one.age_seconds or 0.0) for one in stale)


def _answers(view: DeviceView) -> bool:
    """Whether any source still gives a reading of it."""
    return any(one.status is ReadingStatus.OK for one in view.readings.values())


def _stale_detail(view: DeviceView) -> str:
    reasons = {one.reason for one in view.readings.values() if one.status is ReadingStatus.STALE and one.reason}
    reason = min(reasons, default="")
    return "" if reason == "stale" else reason


def number(reading: Reading | None) -> float | None:
    """The reading's number; None where there is none."""
    if reading is None or reading.status is not ReadingStatus.OK or not isinstance(reading.value, (int, float)):
        return None
    return float(reading.value)


def _started(run: Run) -> float | None:
    return None if run.started is None else _seconds(run.started)


def _seconds(text: str) -> float | None:
    """A claim of another user may hold anything."""
    try:
        return time_seconds(text)
    except ValueError:
        return None
