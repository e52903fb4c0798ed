"""The rows of the form: which there are, and how each is drawn. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.panes.job.preview import tail
from accel_tui.tui.widgets.pieces import Cell, Piece, cell_width, fit

if TYPE_CHECKING:
    from accel_tui.jobs.forms.fields import Field
    from accel_tui.jobs.forms.form import Form

MOST_FOUND = 60
"""Fields that a search lists; more words narrow it down."""
_LEAD = 3
"""Columns before the label: cursor, mark, blank."""


class Kind(enum.Enum):
    """What a row is."""

    GROUP = "group"
    FIELD = "field"
    ITEM = "item"
    """One row of a list; the number behind the last is the one that adds."""
    ERROR = "error"
    FOLD = "fold"
    BLANK = "blank"


@dataclass(frozen=True)
class Row:
    """One row; `path` and `number` say of what."""

    kind: Kind
    path: tuple[str, ...] = ()
    number: int = 0
    text: str = ""
    field: Field | None = None

    @property
    def key(self) -> tuple[Kind, tuple[str, ...], int]:
        return self.kind, self.path, self.number

    @property
    def stops(self) -> bool:
        """The cursor can stand on it."""
        return self.kind in (Kind.FIELD, Kind.ITEM, Kind.FOLD)


@dataclass(frozen=True)
class Filter:
    """What of the form is shown."""

    words: str = ""
    changes_only: bool = False
    open: frozenset[str] = frozenset()
    """Groups whose further fields are shown as well."""


@dataclass(frozen=True)
class Look:
    """What decides how rows are drawn."""

    width: int
    glyphs: Glyphs
    off: Callable[[Field], str | None]
    """Why a field changes nothing."""
    not_choice: Callable[[Field, str], str | None]
    """Why a choice cannot be taken."""
    notes: Mapping[str, Cell] = field(default_factory=dict)
    """What stands beside a field, by its dotted path."""
    gaps: bool = True
    """Blank rows and headings between groups."""

    @property
    def label(self) -> int:
        return 27 if self.width >= 110 else 21 if self.width >= 90 else 18 if self.width >= 66 else 14

    @property
    def at(self) -> int:
        """Where values begin."""
        return _LEAD + self.label + 1

    @property
    def value(self) -> int:
        """Columns of the box around a value."""
        return max(12, min(44, (self.width - self.at) * 5 // 9))


# Which rows there are


def rows_of(form: Form, chosen: Filter, look: Look) -> list[Row]:
    """All rows for what is to be shown."""
    faults = form.faults
    if chosen.words:
        found = form.find(chosen.words)[:MOST_FOUND]
        return [row for one in found for row in _rows_of_field(form, one, faults)]
    rows: list[Row] = []
    for group in dict.fromkeys(one.group for one in form.fields):
        fields = [one for one in form.fields if one.group == group]
        shown = [one for one in fields if _is_shown(form, one, faults, chosen)]
        rest = len(fields) - len(shown)
        if not shown and (chosen.changes_only or not rest):
            continue
        if look.gaps:
            rows += [*([Row(Kind.BLANK)] if rows else []), Row(Kind.GROUP, text=group)]
        rows += [row for one in shown for row in _rows_of_field(form, one, faults)]
        if not chosen.changes_only and (rest or group in chosen.open):
            text = "fewer" if group in chosen.open else f"{rest} more"
            rows.append(Row(Kind.FOLD, (group,), text=text if look.gaps else f"{text} in {group}"))
    return rows


def _is_shown(form: Form, one: Field, faults: Mapping[str, str], chosen: Filter) -> bool:
    differs = form.changed(one) or one.name in faults
    if chosen.changes_only:
        return differs
    return one.common or differs or one.group in chosen.open


def _rows_of_field(form: Form, one: Field, faults: Mapping[str, str]) -> list[Row]:
    rows: list[Row] = []
    if one.rows:
        count = len(form.items(one))
        rows += [Row(Kind.ITEM, one.path, number, field=one) for number in range(count + 1)]
    else:
        rows.append(Row(Kind.FIELD, one.path, field=one))
    if one.name in faults:
        rows.append(Row(Kind.ERROR, one.path, text=faults[one.name], field=one))
    return rows


# How a row is drawn


def draw(row: Row, form: Form, look: Look, *, here: bool, focused: bool) -> Cell:
    """The whole row, cursor sign included."""
    if row.kind is Kind.GROUP:
        return (Piece(row.text, "strong", bold=True),)
    if row.kind is Kind.ERROR:
        sign = Piece(f"{look.glyphs.text('invalid')} ", "error")
        return (Piece(" " * look.at), sign, Piece(row.text, "error"))
    cursor = Piece(look.glyphs.text("cursor"), "accent" if focused else "muted") if here else Piece(" ")
    if row.kind is Kind.FOLD:
        sign = Piece(f" {look.glyphs.text('open' if row.text.startswith('fewer') else 'folded')} ", "accent")
        return (cursor, sign, Piece(row.text, "text" if here else "muted"))
    if row.field is None:
        return ()
    first = row.kind is Kind.FIELD or row.number == 0
    return (cursor, *_label(row.field, form, look, here=here, first=first), *_value(row, row.field, form, look, here))


def _label(one: Field, form: Form, look: Look, *, here: bool, first: bool) -> Cell:
    mark = Piece(look.glyphs.text("changed"), "accent") if first and form.changed(one) else Piece(" ")
    wrong = first and one.name in form.faults
    off = look.off(one) is not None
    role = "error" if wrong else "strong" if here else "faint" if off else "muted"
    label = fit((Piece(one.label if first else "", role),), look.label, "left", look.glyphs.text("cut"),
                look.glyphs.ascii)  # fmt: skip
    return (mark, Piece(" "), *label, Piece(" "))


def _value(row: Row, one: Field, form: Form, look: Look, here: bool) -> Cell:
    room = look.width - look.at
    note = _note(one, form, look) if row.number == 0 or row.kind is Kind.FIELD else ()
    if row.kind is Kind.ITEM:
        return _item(row, one, form, look, here=here)
    if options := choices(one):
        line = _options(one, form, look, options)
        if cell_width(line) <= room:
            return _with_note(line, note, look.value, room)
    return _with_note(_box(_shown(one, form, look), look.value, here, look), note, look.value, room)


def _item(row: Row, one: Field, form: Form, look: Look, *, here: bool) -> Cell:
    items = form.items(one)
    if row.number >= len(items):
        word = "NAME=VALUE" if one.shape.name == "VARIABLES" else one.label.removesuffix("s")
        return (Piece(f" + {word}" if not items else " +", "text" if here else "faint"),)
    # Prompts are sentences: the box takes the whole line.
    return _box((Piece(items[row.number]),), look.width - look.at, here, look)


def choices(one: Field) -> tuple[str, ...]:
    """What is chosen from in the row itself."""
    if one.shape.name == "FLAG":
        return ("on", "off")
    return one.choices


def _options(one: Field, form: Form, look: Look, options: Sequence[str]) -> Cell:
    chosen = form.choice(one)
    dim = look.off(one) is not None
    pieces: list[Piece] = [Piece(" ")]
    for option in options:
        if option == chosen:
            on = Piece(f"{look.glyphs.text('option-on')} ", "faint" if dim else "accent")
            pieces += [on, Piece(option, "faint" if dim else "strong", bold=not dim)]
        elif dim or look.not_choice(one, option) is not None:
            pieces += [Piece(f"{look.glyphs.text('cannot-pick')} ", "faint"), Piece(option, "faint")]
        else:
            pieces += [Piece(f"{look.glyphs.text('option-off')} ", "muted"), Piece(option)]
        pieces.append(Piece("  "))
    return tuple(pieces[:-1])


def option_at(one: Field, form: Form, look: Look, x: int) -> str | None:
    """The choice that is drawn at column `x` of the row."""
    options = choices(one)
    line = _options(one, form, look, options) if options else ()
    if not options or cell_width(line) > look.width - look.at:
        return None
    place = look.at + 1
    for option in options:
        end = place + 2 + cell_width((Piece(option),))
        if place <= x < end:
            return option
        place = end + 2
    return None


def _shown(one: Field, form: Form, look: Look) -> Cell:
    """What stands in the box: the value, or in faint what holds without one."""
    text = form.choice(one) if choices(one) else form.text(one)
    if one.rows and not form.items(one):
        text = ""  # an empty list or table is nothing to a reader
    off = look.off(one) is not None
    if text:
        inside = look.value - 2
        shown = tail(text, inside, look.glyphs.text("cut")) if one.meant is not None else text
        return (Piece(shown, "faint" if off else "text"),)
    if one.required:
        return ()
    return (Piece(_unknown(one) if one.library else _ABSENT.get(one.name, "none"), "faint"),)


def _unknown(one: Field) -> str:
    return "the model's own" if one.library == "GenerationConfig" else "the library's own"


_ABSENT = {"devices": "the session's, or auto", "launch.python": "found by itself", "launch.processes": "by itself",
           "model.tokenizer": "the model's own", "train.output": "the run's own", "generate.output": "the run's own",
           "launch.cwd": "where it is submitted", "model.attn_implementation": "the model's own"}  # fmt: skip


def _box(content: Cell, width: int, here: bool, look: Look) -> Cell:
    surface = "select" if here else "raised"
    inner = fit((Piece(" "), *content), width, "left", look.glyphs.text("cut"), look.glyphs.ascii)
    return tuple(piece._replace(on=surface) for piece in inner)


def _note(one: Field, form: Form, look: Look) -> Cell:
    reason = look.off(one)
    if reason is not None:
        return (Piece(reason, "muted"),)
    reasons = [f"{option}: {why}" for option in choices(one) if (why := look.not_choice(one, option)) is not None]
    if reasons:
        return (Piece("; ".join(reasons), "muted"),)
    told = look.notes.get(one.name)
    if told:
        return told
    if choices(one) and not form.choice(one):
        return (Piece(_unknown(one), "faint"),)
    if form.changed(one) and not one.required and not choices(one):
        default = one.default if one.default in (None, [], {}) else form.reset(one.path).text(one)
        return (Piece(f"default {default}", "muted"),) if default not in (None, [], {}) else ()
    return ()


def _with_note(value: Cell, note: Cell, width: int, room: int) -> Cell:
    """The note in its column where the value leaves that free, else behind it; left out where it has no room."""
    if not note:
        return value
    used = cell_width(value)
    gap = max(2, width + 2 - used)
    left = room - used - gap
    if left < min(cell_width(note), 10):
        return value
    return (*value, Piece(" " * gap), *note)
