"""Whether the draft can be launched or queued, and why not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accel_tui.model.plans import Check, CheckLevel
from accel_tui.model.runs import RunState
from accel_tui.tui.board import Board
from accel_tui.tui.naming import count
from accel_tui.tui.panes.job.outlook import Outlook, taken

WORDS = {
    CheckLevel.PASS: ("passed", "ok"), CheckLevel.WARNING: ("warning", "warn"), CheckLevel.ASK: ("warning", "warn"),
    CheckLevel.REFUSAL: ("invalid", "error"), CheckLevel.UNKNOWN: ("stale", "muted"),
}  # fmt: skip
"""Sign and role of each level."""


@dataclass(frozen=True)
class Verdict:
    """Reasons; None where it can be done."""

    launch: str | None
    queue: str | None
    role: str = "muted"
    """How loud the reason is."""
    remark: str | None = None
    """What the checks will ask or refuse when it is done all the same."""


def verdict(board: Board, outlook: Outlook | None, faults: Mapping[str, str]) -> Verdict:
    """Queue needs a job that is right; Launch needs its devices to be free as well."""
    if faults:
        reason = f"{count(len(faults), 'field')} to correct"
        return Verdict(reason, reason, "error")
    general = board.verbs_off()
    if general is None and "launch" in board.busy:
        general = board.busy["launch"]
    if general is not None:
        return Verdict(general, general)
    if outlook is None:
        return Verdict("planning", "planning")
    if outlook.fault is not None or outlook.plan is None:
        reason = outlook.fault.message if outlook.fault is not None else "there is no plan"
        return Verdict(reason, reason, "error")
    absent = _absent(outlook)
    if absent is not None:
        return Verdict(absent, absent, "error")
    return Verdict(waits(board, outlook), None, remark=_remark(outlook))


def _remark(outlook: Outlook) -> str | None:
    refused = [check.id for check in outlook.findings if check.level is CheckLevel.REFUSAL]
    asked = [check.id for check in outlook.findings if check.level is CheckLevel.ASK]
    if refused:
        return f"{', '.join(refused)} refuse{'s' if len(refused) == 1 else ''}"
    return f"asks first: {', '.join(asked)}" if asked else None


def _absent(outlook: Outlook) -> str | None:
    """Devices that this host does not have cannot be overridden."""
    if outlook.plan is None or outlook.plan.verified:
        return None
    found = (check.message for check in outlook.plan.checks if check.id == "devices-here")
    return next(found, "a selected device is not on this host")


def waits(board: Board, outlook: Outlook) -> str | None:
    """What a start would wait for; None when it could begin at once."""
    plan = outlook.plan
    if plan is None:
        return None
    if plan.waiting_for is not None:
        return f"waits for {plan.waiting_for}"
    held = [key for key in plan.devices if key.partition("#")[0] in taken(board)]
    if held:
        return f"{count(len(held), 'device')} {'is' if len(held) == 1 else 'are'} not free"
    settings = board.link.greeting.get("settings")
    slots = settings.get("cpu_slots", 1) if isinstance(settings, Mapping) else 1
    users = [run for run in board.live if run.state is not RunState.QUEUED and "cpu" in run.devices]
    if plan.slots and len(users) >= slots:
        return f"the CPU is busy with {users[0].name}"
    return None


def counted(findings: tuple[Check, ...]) -> tuple[int, list[Check]]:
    """How many checks passed, and the others, the worst first."""
    order = [CheckLevel.REFUSAL, CheckLevel.ASK, CheckLevel.WARNING, CheckLevel.UNKNOWN]
    others = sorted(
        (check for check in findings if check.level is not CheckLevel.PASS), key=lambda one: order.index(one.level)
    )
    return len(findings) - len(others), others
