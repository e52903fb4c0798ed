"""The form with everything that belongs to changing it: search, the field of text above a row, help below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget
from textual.widgets.input import Selection

from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.panes.job.formview import FormView
from accel_tui.tui.panes.job.notes import field_help
from accel_tui.tui.panes.job.rows import Filter, Kind, Look, Row, choices, rows_of
from accel_tui.tui.widgets.field import Field as TextField
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.parts import Part, PartLine
from accel_tui.tui.widgets.pieces import Cell, Piece, Rule

if TYPE_CHECKING:
    from accel_tui.jobs.forms.fields import Field
    from accel_tui.jobs.forms.form import Form
    from accel_tui.jobs.forms.matter import Setting
    from accel_tui.tui.services import Services

LOW_ROWS = 28
"""Below this height headings and blank rows are left out."""


class Editor(TextField):
    """The text of the row under the cursor, while it is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(0)", show=False),
        Binding("down,tab", "leave(1)", show=False),
        Binding("up,shift+tab", "leave(-1)", show=False),
    ]

    class Left(Message):
        """Typing is over; `steps` is where the cursor goes."""

        def __init__(self, steps: int, *, on: bool) -> None:
            super().__init__()
            self.steps = steps
            self.on = on
            """Typing goes on in that row."""

    def action_leave(self, steps: int) -> None:
        self.post_message(self.Left(steps, on=steps != 0))


class Finder(TextField):
    """The words that narrow the form."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", show=False),
        Binding("down,up,tab", "leave(False)", show=False),
    ]

    class Left(Message):
        """Typing is over."""

        def __init__(self, *, clear: bool) -> None:
            super().__init__()
            self.clear = clear

    def action_leave(self, clear: bool) -> None:
        self.post_message(self.Left(clear=clear))

    async def action_submit(self) -> None:
        """To the fields; a second key that was there before the focus had moved opens the one under the cursor."""
        part = self.query_ancestor(FormPart)
        if self.screen.focused is self:
            part.to_the_fields()
        else:
            part.view.action_open()


_PATTERNS = {"VARIABLES": "NAME=VALUE", "ITEMS": ""}
"""What stands in an empty line, to say what is typed there."""


@dataclass(frozen=True)
class _Edit:
    """What is being typed into, and the form as it was before: each key makes the change anew."""

    row: Row
    field: Field
    before: Form


class FormPart(Vertical):
    """A form and its parts. It makes new forms and tells them; it is shown the one that counts."""

    DEFAULT_CSS = """
    FormPart { height: 1fr; width: 1fr; }
    FormPart #fields { height: 1fr; width: 1fr; layers: rows text; }
    FormPart FormView { layer: rows; }
    FormPart Editor { layer: text; position: absolute; display: none; background: $select; padding: 0 1; }
    FormPart Editor:focus { background: $select; padding: 0 1; }
    FormPart Finder { display: none; }
    FormPart.-finding Finder { display: block; }
    FormPart.-finding #form-head { display: none; }
    """

    class Changed(Message):
        """The person changed the form."""

        def __init__(self, form: Form) -> None:
            super().__init__()
            self.form = form

    class Placed(Message):
        """It came into sight or has another size: its neighbours are to be fitted, and the focus can be inside."""

    class Turned(Message):
        """Typing began or ended: keys do something else now."""

    def __init__(self, services: Services) -> None:
        super().__init__(id="part")
        self._services = services
        self._form: Form | None = None
        self._given: dict[str, Any] = {}
        """The job that was shown last."""
        self._setting: Setting | None = None
        self._notes: Mapping[str, Cell] = {}
        self._filter = Filter()
        self._edit: _Edit | None = None
        self._seeking = False

    def compose(self) -> ComposeResult:
        yield PartLine(id="form-head", gap=2)
        yield Finder(placeholder="words of a field: name or help", id="find")
        with Container(id="fields"):
            yield FormView(id="view")
            yield Editor(id="edit")
        yield Lines([], id="field-help")

    @property
    def view(self) -> FormView:
        return self.query_one(FormView)

    @property
    def editor(self) -> Editor:
        return self.query_one(Editor)

    @property
    def typing(self) -> bool:
        return self._edit is not None

    @property
    def keys_now(self) -> list[tuple[str, str]]:
        """The verbs of the border, by what the keys do now: inside a line letters are letters."""
        if self.typing:
            return [("item.open", "done"), ("move.down", "next field")]
        if self._seeking:
            return [("item.open", "to the fields"), ("app.back", "all fields")]
        return [("item.open", "edit"), ("field.reset", "default"), ("app.back", "close")]

    @property
    def target(self) -> Widget:
        """What has the focus inside."""
        if self.typing:
            return self.editor
        return self.query_one(Finder) if self._seeking else self.view

    # Showing

    def show(self, form: Form, setting: Setting, notes: Mapping[str, Cell]) -> None:
        """Show the form that counts now; one that was not made here ends the typing."""
        job = dict(form.job)
        if self._form is not None and job == self._given:
            form = self._form  # no news from outside; what was changed here meanwhile is still on its way there
        foreign = self._form is not None and dict(form.job) != dict(self._form.job)
        self._form, self._setting, self._notes, self._given = form, setting, notes, job
        if foreign and self._edit is not None:
            self._end_edit()
        self._fill()

    def on_resize(self) -> None:
        self.call_after_refresh(self._place)

    def on_show(self) -> None:
        self.call_after_refresh(self._place)

    def _place(self) -> None:
        self._fill()
        self.post_message(self.Placed())

    def _fill(self) -> None:
        form = self._form
        if form is None:
            return
        look = self._look(form)
        rows = rows_of(form, self._filter, look)
        self.view.show(form, rows, look, self._nothing())
        self._show_head(form, rows)
        self._show_help()
        self._place_editor()

    def _look(self, form: Form) -> Look:
        from accel_tui.jobs.forms.matter import Setting, why_not_choice, why_off

        setting = self._setting or Setting()
        return Look(
            width=self.view.size.width or 80,
            glyphs=Glyphs(self.app.has_class(ASCII_CLASS)),
            off=lambda one: why_off(form, one, setting),
            not_choice=lambda one, choice: why_not_choice(form, one, choice, setting),
            notes=self._notes,
            gaps=self.size.height >= LOW_ROWS,
        )

    def _nothing(self) -> tuple[Cell, ...]:
        if self._filter.words:
            return (
                (Piece(f"No field matches '{self._filter.words}'.", "muted"),),
                (Piece("esc clears the search.", "faint"),),
            )
        return ((Piece("Nothing differs from the defaults.", "muted"),), (Piece("d shows all fields.", "faint"),))

    def _show_head(self, form: Form, rows: list[Row]) -> None:
        key = self._services.key
        shown = len({row.path for row in rows if row.field is not None})
        find = Part("find.open", (Piece(f"{key('find.open')} ", "accent"), Piece("find a field", "faint")))
        told = Part("", (Piece(f"{len(form.fields)} fields, {shown} shown, ", "muted"),
                         Piece(f"{len(form.changes)} changed", "text")))  # fmt: skip
        word = "all fields" if self._filter.changes_only else "only changes"
        right = (Piece(f"{key('job.changes')} ", "accent"), Piece(word, "muted"))
        self.query_one("#form-head", PartLine).show([find, told], right, "job.changes")

    def _show_help(self) -> None:
        row, form = self.view.row, self._form
        lines = self.query_one("#field-help", Lines)
        if form is None:
            return
        rows = 2 if self.size.height < LOW_ROWS else 3
        told: list[Cell] = [()] * rows
        if row is not None and row.field is not None:
            look = self.view.look
            told[:rows] = field_help(row.field, form, look, max(20, self.size.width), rows)
        more = f"{self.view.below} more below" if self.view.below else ""
        lines.show([Rule(more), *told, *[()] * (rows - len(told))])

    # Typing

    def on_form_view_moved(self, message: FormView.Moved) -> None:
        message.stop()
        self._show_help()

    def on_form_view_opened(self, message: FormView.Opened) -> None:
        message.stop()
        row = message.row
        if row.kind is Kind.FOLD:
            group = row.path[0]
            self._filter = replace(self._filter, open=self._filter.open ^ {group})
            self._fill()
        elif row.field is not None and choices(row.field):
            self._step(row.field, 1)
        else:
            self.begin_edit()

    def begin_edit(self, *, placed: bool = False) -> None:
        """Type into the row under the cursor; one that is not `placed` yet is waited for once."""
        row, form = self.view.row, self._form
        if row is None or row.field is None or form is None:
            return
        if self.view.value_region() is None:
            if not placed:
                self.call_after_refresh(self.begin_edit, placed=True)
            return
        one = row.field
        if row.kind is Kind.ITEM:
            items = form.items(one)
            text = items[row.number] if row.number < len(items) else ""
        else:
            text = form.text(one) if form.given(one.path) or not one.library else ""
        self._edit = None
        self.editor.value = text
        self._edit = _Edit(row, one, form)
        self.editor.placeholder = "" if one.required else _PATTERNS.get(one.shape.name) or form.text(one)
        self.view.typing = True
        self._place_editor()
        self.editor.display = True
        self._go_in()
        self.post_message(self.Turned())
        # A number is typed anew; a path or a sentence is gone on with.
        anew = one.shape.name in ("WHOLE", "NUMBER", "DURATION")
        self.editor.selection = Selection(0 if anew else len(text), len(text))

    def _go_in(self) -> None:
        """Into the line that is typed into: at once, as a key that is typed already must not act as a verb; and once
        more when it has its place, as what had none before may have lost the focus again."""
        self.screen.set_focus(self.target)
        self.call_after_refresh(self._stay)

    def _stay(self) -> None:
        if (self.typing or self._seeking) and self.target is not self.screen.focused:
            self.screen.set_focus(self.target)

    def _place_editor(self) -> None:
        if self._edit is None:
            return
        region = self.view.value_region()
        if region is not None:
            self.editor.styles.offset = Offset(region.x, region.y)
            self.editor.styles.width = region.width

    def on_input_changed(self, event: TextField.Changed) -> None:
        event.stop()
        if event.input is not self.editor:
            self._filter = replace(self._filter, words=event.value.strip())
            self._fill()
        elif self._edit is not None and event.value == self.editor.value:
            edit = self._edit
            if edit.row.kind is Kind.ITEM:
                form = edit.before.with_item(edit.field, edit.row.number, event.value)
            else:
                form = edit.before.with_text(edit.field, event.value)
            self._change(form)

    def on_input_submitted(self, event: TextField.Submitted) -> None:
        event.stop()
        edit = self._edit
        self._end_edit()
        if edit is not None and edit.row.kind is Kind.ITEM:
            self.view.action_move(1)

    def on_editor_left(self, message: Editor.Left) -> None:
        message.stop()
        self._end_edit()
        if not message.steps:
            return
        self.view.action_move(message.steps)
        row = self.view.row
        if message.on and row is not None and row.field is not None and not choices(row.field):
            self.begin_edit()

    def _end_edit(self) -> None:
        self._edit = None
        self.view.typing = self.editor.display = False
        self.screen.set_focus(self.view)
        self.post_message(self.Turned())
        self._fill()

    # Choosing

    def on_form_view_stepped(self, message: FormView.Stepped) -> None:
        message.stop()
        if message.row.field is not None and choices(message.row.field):
            self._step(message.row.field, message.steps)

    def on_form_view_chosen(self, message: FormView.Chosen) -> None:
        message.stop()
        if message.row.field is not None:
            self._choose(message.row.field, message.choice)

    def _step(self, one: Field, steps: int) -> None:
        """The next choice that can be taken; those that cannot are stepped over."""
        form = self._form
        if form is None:
            return
        look = self.view.look
        options = [option for option in choices(one) if look.not_choice(one, option) is None]
        now = form.choice(one)
        if not options or (len(options) == 1 and options[0] == now):
            reasons = [why for option in choices(one) if (why := look.not_choice(one, option)) is not None]
            self._services.desk.say(f"{one.label}: {reasons[0] if reasons else 'there is no other choice'}")
            return
        place = options.index(now) if now in options else -1 if steps > 0 else 0
        self._choose(one, options[(place + steps) % len(options)])

    def _choose(self, one: Field, choice: str) -> None:
        reason = self.view.look.not_choice(one, choice)
        if reason is not None:
            self._services.desk.say(f"{choice}: {reason}")
        elif self._form is not None:
            self._change(self._form.with_choice(one, choice))

    def on_form_view_reset(self, message: FormView.Reset) -> None:
        message.stop()
        row, form = message.row, self._form
        if row.field is None or form is None:
            return
        if row.kind is Kind.ITEM:
            self._change(form.with_item(row.field, row.number, ""))
        elif row.field.required and row.field.default is None:
            self._services.desk.say(f"{row.field.label} is needed: it has no default")
        else:
            self._change(form.reset(row.field.path))

    def _change(self, form: Form) -> None:
        if self._form is not None and dict(form.job) == dict(self._form.job):
            return
        self._form = form
        self._fill()
        self.post_message(self.Changed(form))

    # Narrowing

    def find(self) -> None:
        """Type words that narrow the form."""
        self.add_class("-finding")
        self._seeking = True
        self._go_in()
        self.post_message(self.Turned())

    def on_finder_left(self, message: Finder.Left) -> None:
        message.stop()
        if message.clear:
            self.back()
        self.to_the_fields()

    def to_the_fields(self) -> None:
        """End the typing of words; what they narrowed stays narrow."""
        self._seeking = False
        self.screen.set_focus(self.view)
        self.post_message(self.Turned())

    def toggle_changes(self) -> None:
        """Only what differs from the default, or all again."""
        self._filter = replace(self._filter, changes_only=not self._filter.changes_only)
        self._fill()

    def back(self) -> bool:
        """Undo what narrows the form; False when nothing does."""
        self._seeking = False
        if self.has_class("-finding"):
            self.query_one(Finder).value = ""
            self.remove_class("-finding")
            self.screen.set_focus(self.view)
            return True
        if self._filter.changes_only:
            self.toggle_changes()
            return True
        return False
