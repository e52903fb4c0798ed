"""The plan as lines: command, each change of the environment with its reason, devices, warnings, checks. Pure."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from accel_tui.model.devices import Device
from accel_tui.model.plans import Check, CheckLevel, EnvironmentAction, EnvironmentChange, Plan
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.naming import names_of
from accel_tui.tui.panes.job.verdict import WORDS, counted
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, cell_width

if TYPE_CHECKING:
    from accel_tui.tui.panes.job.outlook import Outlook

RUN_FOLDER = "RUN_FOLDER"
"""Stands for the folder that the run gets when it is queued."""


def preview(
    outlook: Outlook, known: Mapping[str, Device], home: str, width: int, *, whole: bool = True
) -> list[Cell | Ends]:
    """Everything of the plan; unless `whole`, without the reasons that need lines of their own."""
    plan = outlook.plan
    if plan is None:
        return []
    return [
        _devices(plan, known),
        *(line for change in ordered(plan) for line in _explained(change, plan, width)[: None if whole else 1]),
        (Piece("$ ", "accent"), Piece("cd "), Piece(short_path(plan.cwd, home))),
        *command(plan, width, home),
        *((Piece("! ", "warn"), Piece(warning.message, "muted")) for warning in plan.warnings),
    ]


def _devices(plan: Plan, known: Mapping[str, Device]) -> Ends:
    names = names_of(plan.devices, known) or (f"waits for {plan.waiting_for}" if plan.waiting_for else "none")
    told = f"{plan.processes} processes" if plan.processes > 1 else "one process"
    return Ends((Piece("  ", "muted"), Piece("devices ", "muted"), Piece(names)), (Piece(told, "muted"),))


def ordered(plan: Plan) -> list[EnvironmentChange]:
    """What the run gets, what it loses, and what it is known to keep."""
    order = {EnvironmentAction.SET: 0, EnvironmentAction.UNSET: 1, EnvironmentAction.KEEP: 2}
    return sorted(plan.environment, key=lambda change: order[change.action])


def environment(plan: Plan, width: int, *, first: Collection[str] = ()) -> list[Cell | Ends]:
    """One line for each variable, its reason at the right end where that has room; those in `first` come first."""
    changes = sorted(ordered(plan), key=lambda change: change.name not in first)
    return [_explained(change, plan, width)[0] for change in changes]


def _explained(change: EnvironmentChange, plan: Plan, width: int) -> list[Cell | Ends]:
    """The change with its reason behind it, or below where there is no room."""
    left, reason = _change(change, plan), (Piece(change.reason, "muted"),)
    if cell_width(left) + cell_width(reason) + 2 <= width:
        return [Ends(left, reason)]
    return [left, *((Piece("    "), Piece(text, "muted")) for text in wrapped(change.reason, width - 4))]


def _change(change: EnvironmentChange, plan: Plan) -> Cell:
    if change.action is EnvironmentAction.UNSET:
        return (Piece("- ", "error"), Piece(change.name))
    sign = Piece("+ ", "ok") if change.action is EnvironmentAction.SET else Piece("  ")
    role = "text" if change.action is EnvironmentAction.SET else "muted"
    value = "from the shell" if change.secret or change.value is None else change.value.replace(plan.folder, RUN_FOLDER)
    joint = " " if change.secret or change.value is None else "="
    return (sign, Piece(f"{change.name}{joint}", role), Piece(value, "muted" if joint == " " else role))


def wrapped(text: str, width: int) -> list[str]:
    """Whole words where they fit; nothing is cut."""
    return textwrap.wrap(text, max(16, width), break_on_hyphens=False) or [""]


def command(plan: Plan, width: int, home: str) -> list[Cell]:
    """The command in lines that a shell would read as one; an option and its value stay together."""
    words: list[str] = []
    for argument in plan.argv:
        word = quoted(argument.replace(plan.folder, RUN_FOLDER))
        if words and words[-1].startswith("--") and " " not in words[-1] and "=" not in words[-1] and word[0] != "-":
            words[-1] += f" {word}"
        else:
            words.append(word if words else short_path(word, home))
    lines: list[str] = [""]
    for word in words:
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and len(joined) + 6 > width:
            lines.append(word)
        else:
            lines[-1] = joined
    last = len(lines) - 1
    return [
        (Piece("$ " if not at else "    ", "accent"), Piece(text), Piece("" if at == last else " \\", "muted"))
        for at, text in enumerate(lines)
    ]


def quoted(text: str) -> str:
    """One word of a shell, exact and printable."""
    from accel_tui.jobs.shell import quote

    return quote(text)


def short_path(path: str, home: str) -> str:
    """`~/lab` for a path below the home folder."""
    if home and home != "/" and (path == home or path.startswith(home.rstrip("/") + "/")):
        return "~" + path[len(home.rstrip("/")) :]
    return path


def tail(path: str, width: int, cut: str) -> str:
    """A path whose end is kept: the end says more than the beginning."""
    return path if len(path) <= width else cut + path[len(path) - max(1, width - len(cut)) :]


_ID = 16


def checks(
    findings: Sequence[Check], faults: Mapping[str, str], labels: Mapping[str, str], glyphs: Glyphs, width: int,
    *, looking: bool,
) -> list[Cell]:  # fmt: skip
    """Every wrong field and every finding, the worst first, whole, with the remedy below."""
    lines: list[Cell] = []
    for field, reason in faults.items():
        lines += _finding(glyphs, ("invalid", "error"), labels.get(field, field), (reason, "error"), width)
    _, others = counted(tuple(findings))
    for check in [*others, *(check for check in findings if check.level is CheckLevel.PASS)]:
        sign, role = WORDS[check.level]
        text = "muted" if check.level in (CheckLevel.PASS, CheckLevel.UNKNOWN) else role
        lines += _finding(glyphs, (sign, role), check.id, (check.message, text), width)
        if check.remedy and check.level is not CheckLevel.PASS:
            lines += _below(check.remedy, "muted", width)
    if looking:
        lines.append((Piece("  looking at files", "muted"),))
    return lines


def _finding(glyphs: Glyphs, sign: tuple[str, str], name: str, told: tuple[str, str], width: int) -> list[Cell]:
    lead = (Piece(f"{glyphs.text(sign[0])} ", sign[1]), Piece(f"{name:<{_ID}} "))
    if len(name) > _ID:
        return [lead, *_below(*told, width)]
    first, *rest = wrapped(told[0], width - _ID - 3)
    return [(*lead, Piece(first, told[1])), *((Piece(" " * (_ID + 3)), Piece(part, told[1])) for part in rest)]


def _below(text: str, role: str, width: int) -> list[Cell]:
    return [(Piece(" " * (_ID + 3)), Piece(part, role)) for part in wrapped(text, width - _ID - 3)]


def checks_line(
    findings: Sequence[Check], faulty: Sequence[str], glyphs: Glyphs, brief: Callable[[Check], str],
    *, looking: bool, wait: str | None = None,
) -> Cell:  # fmt: skip
    """How the checks stand, in one line: what passed, the labels of wrong fields, then the worst in brief."""
    passed, others = counted(tuple(findings))
    pieces: list[Piece] = []
    if passed:
        sign = Piece(f"{glyphs.text('passed')} ", "ok")
        pieces += [sign, Piece(f"{passed} passed" if faulty or others else f"{passed} checks passed")]
    elif looking:
        pieces.append(Piece("looking at files", "muted"))
    told = [("invalid", "error", ", ".join(faulty))] if faulty else []
    told += [
        (*WORDS[check.level], f"{check.id}: {brief(check)}")
        for check in others
        if check.level is not CheckLevel.UNKNOWN
    ]
    if wait is not None and not any(check.id == "device-busy" for check in others):
        told.append(("warning", "warn", wait))
    for sign_name, role, text in told[:3]:
        gap = [Piece("   ")] if pieces else []
        pieces += [*gap, Piece(f"{glyphs.text(sign_name)} ", role), Piece(text, role)]
    return tuple(pieces)


def home_of(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - a text is wanted
