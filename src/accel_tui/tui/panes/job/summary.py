"""The draft in few lines: what would start, its preview and its checks, fitted to the room there is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accel_tui.model.devices import Device
from accel_tui.model.plans import Check, Plan
from accel_tui.tui.board import Draft
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.naming import count, names_of
from accel_tui.tui.panes.job.notes import brief
from accel_tui.tui.panes.job.preview import checks_line, command, environment, short_path, tail
from accel_tui.tui.widgets.lines import Line
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, Rule, cell_width

if TYPE_CHECKING:
    from accel_tui.jobs.forms.fields import Field
    from accel_tui.jobs.forms.form import Form
    from accel_tui.tui.panes.job.outlook import Outlook

_GUTTER = 11


@dataclass(frozen=True)
class Facts:
    """What a summary is made of."""

    form: Form
    draft: Draft
    outlook: Outlook | None
    notes: Mapping[str, Cell]
    known: Mapping[str, Device]
    glyphs: Glyphs
    home: str
    select: str
    wait: str | None
    """What a start would wait for."""

    def brief(self, check: Check) -> str:
        return brief(check, self.form, self.home)


def summary(facts: Facts, width: int, height: int) -> list[Line]:
    """The lines; what is dropped first: further lines of the command, reasons, blank lines, then variables."""
    about = _about(facts, width)
    outlook = facts.outlook
    plan = None if outlook is None else outlook.plan
    looking = plan is not None and outlook is not None and outlook.checks is None
    findings = () if outlook is None else outlook.findings
    last = checks_line(findings, faulty(facts.form), facts.glyphs, facts.brief, looking=looking, wait=facts.wait)
    room = height - len(about) - 1
    if room < 2:
        return [*about[: max(0, height - 1)], last]
    middle = _nothing(facts) if plan is None else variables_and_command(plan, facts.form, width, room - 1, facts.home)
    blank: list[Line] = [()] if room - 1 > len(middle) else []
    return [*about, Rule("preview"), *middle, *blank, last]


def faulty(form: Form) -> list[str]:
    """The labels of the fields that are wrong."""
    labels = {one.name: one.label for one in form.fields}
    return [labels.get(name, name) for name in form.faults]


def _nothing(facts: Facts) -> list[Line]:
    fault = None if facts.outlook is None else facts.outlook.fault
    if facts.form.faults or fault is None:
        text = "planned when its fields are right" if facts.form.faults else "planning"
        return [(Piece(text, "muted"),)]
    sign = Piece(f"{facts.glyphs.text('invalid')} ", "error")
    remedy: list[Line] = [(Piece("  "), Piece(fault.remedy, "muted"))] if fault.remedy else []
    return [(sign, Piece(fault.message, "error")), *remedy]


def variables_and_command(plan: Plan, form: Form, width: int, room: int, home: str) -> list[Line]:
    """As many variables as there is room for, those that the job itself sets first, and the command."""
    lines = command(plan, width, home)
    variables = environment(plan, width, first=form.value(("launch", "env")) or ())
    for shown in (lines, lines[:1]):
        if len(variables) + len(shown) <= room:
            return [*variables, *shown]
    kept = max(0, room - 2)
    more = (Piece(f"  {len(variables) - kept} more variables   ", "muted"), Piece("p ", "accent"),
            Piece("shows them", "muted"))  # fmt: skip
    return [*variables[:kept], *([more] if room > 1 else []), *lines[:1]]


def _about(facts: Facts, width: int) -> list[Line]:
    form, plan = facts.form, None if facts.outlook is None else facts.outlook.plan
    lines: list[Line] = [_line("kind", form.kind, _changes(form))]
    for one in _chief(form):
        lines.append(_field_line(one, facts, width))
    given = [one for one in form.changes if one.library is not None]
    if given:
        told = ", ".join(f"{one.path[-1]} {form.text(one)}" for one in given)
        lines.append(_line("arguments", told, ()))
    where = facts.select if plan is None else names_of(plan.devices, facts.known) or facts.select
    chosen = (Piece(facts.select, "muted"),) if where != facts.select else ()
    lines.append(_line("devices", where, chosen))
    processes = 1 if plan is None else plan.processes
    launcher = form.launcher if form.launcher != "none" else "none, the program itself"
    return [*lines, _line("launcher", f"{launcher}, {processes} processes" if processes > 1 else launcher, ())]


def _chief(form: Form) -> list[Field]:
    """The fields that say what the job is."""
    wanted = [one for one in form.fields if one.path != ("name",)]
    needed = [one for one in wanted if one.required or (one.rows and one.common and form.given(one.path))]
    return [*needed, *(one for one in wanted if one.name == "model.dtype")]


def _field_line(one: Field, facts: Facts, width: int) -> Line:
    form = facts.form
    if one.name in form.faults:
        sign = facts.glyphs.text("invalid")
        return (Piece(f"{one.label:<{_GUTTER}}", "muted"), Piece(f"{sign} {form.faults[one.name]}", "error"))
    note = facts.notes.get(one.name, ())
    if one.rows:
        items = form.items(one)
        return _line(one.label, items[0] if items else "none", (Piece(count(len(items), "prompt"), "muted"),))
    text = form.choice(one) if one.choices else form.text(one)
    if one.meant is not None:
        room = width - _GUTTER - cell_width(note) - 2
        if room < 16:
            note, room = (), width - _GUTTER
        text = tail(short_path(text, facts.home), room, facts.glyphs.text("cut"))
    return _line(one.label, text, note)


def _changes(form: Form) -> Cell:
    return (Piece(count(len(form.changes), "change") + " from the defaults", "muted"),)


def _line(gutter: str, value: str, right: Cell) -> Line:
    left = (Piece(f"{gutter:<{_GUTTER}}", "muted"), Piece(value))
    return Ends(left, right) if right else left
