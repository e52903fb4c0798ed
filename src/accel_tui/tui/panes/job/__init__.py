"""The Job pane: what would start, changed in place, with its preview, its checks, and the verbs that queue it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from accel_tui.model.devices import Device
from accel_tui.model.errors import AccelError
from accel_tui.tui.background import in_thread
from accel_tui.tui.board import Board, Draft
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.messages import Told, Whole
from accel_tui.tui.naming import count
from accel_tui.tui.panes import Pane
from accel_tui.tui.panes.job import notes, outlook, preview, summary
from accel_tui.tui.panes.job.editing import FormPart
from accel_tui.tui.panes.job.outlook import Outlook
from accel_tui.tui.panes.job.planner import Planner
from accel_tui.tui.panes.job.short import Summary
from accel_tui.tui.panes.job.verdict import Verdict, verdict, waits
from accel_tui.tui.screens.buttons import buttons
from accel_tui.tui.services import Services
from accel_tui.tui.widgets.lines import Line, Lines
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.parts import Part, PartLine
from accel_tui.tui.widgets.pieces import Cell, Ends, Piece, Rule

if TYPE_CHECKING:
    from accel_tui.jobs.forms.form import Form
    from accel_tui.tui.screens.sessions import Chosen

NUMBER = 2
WIDE_COLUMNS = 120
"""From this width on the preview stands beside the form."""
HIGH_ROWS = 30
"""From this height on a narrow form has the variables below it."""
_FORM_FOOT = (
    "item.open", "field.reset", "job.preview", "job.launch", "job.queue", "find.open", "job.changes", "session.save",
)  # fmt: skip
_ON_A_JOB = frozenset({"job.preview", "job.changes", "item.copy", "item.export", "session.save", "find.open"})


class JobPane(Pane):
    """Shows the draft of the board. Changes go to the desk; what a start would do is planned beside it."""

    number = NUMBER
    label = "Job"
    KEYS = ("job.preview", "job.changes", "item.copy", "item.export", "find.open")
    FOOT = (
        "job.launch", "job.queue", "job.edit", "session.open", "job.preview", "session.save", "find.open",
        "job.changes", "item.copy", "item.export",
    )  # fmt: skip
    WORDS: ClassVar[dict[str, str]] = {
        "item.open": "edit", "item.copy": "copy command", "item.export": "shell script", "find.open": "find field",
        "session.open": "open", "session.save": "save",
    }  # fmt: skip

    DEFAULT_CSS = """
    JobPane #form { height: 1fr; display: none; }
    JobPane #side { width: 2fr; height: 1fr; margin: 0 0 0 2; scrollbar-size-vertical: 1; }
    JobPane #beside { padding: 0 1 0 0; }
    JobPane #part { width: 3fr; }
    JobPane #under { display: none; height: auto; }
    JobPane.-form #form { display: block; }
    JobPane.-form #summary { display: none; }
    JobPane.-form.-narrow #under { display: block; }
    JobPane.-narrow #side { display: none; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._ready = self._loading = False
        self._wants_focus = False
        """The form gets the focus as soon as it is in sight: before that it cannot take it."""
        self._form: Form | None = None
        self._fault: AccelError | None = None
        self._saved: Mapping[str, Any] | None = None
        self._kind: object = None
        self._planner = Planner(
            lambda work: self.run_worker(work, group="plan"),
            self._redraw,
            lambda: self._form is not None and bool(self._form.faults),
        )
        self._home = preview.home_of(services.environment)

    def compose(self) -> ComposeResult:
        yield Summary([], id="summary")
        with Horizontal(id="form"):
            yield FormPart(self.services)
            side = VerticalScroll(id="side", can_focus=False)
            with side:
                yield Lines([], id="beside")
        yield Lines([], id="under")
        yield PartLine(id="buttons", gap=1)

    def on_mount(self) -> None:
        # Also while it is hidden: other panes launch the draft.
        self.services.desk.watch(self, self._follow)
        self._follow(self.board)

    @property
    def part(self) -> FormPart:
        return self.query_one(FormPart)

    @property
    def editing(self) -> bool:
        """The form is shown instead of the summary."""
        return self.has_class("-form")

    @property
    def glyphs(self) -> Glyphs:
        return Glyphs(self.app.has_class(ASCII_CLASS))

    @property
    def foot(self) -> tuple[str, ...]:
        return _FORM_FOOT if self.editing else self.FOOT

    def settled(self, draft: Draft) -> bool:
        """What is shown is the plan of this draft, files looked at."""
        found = self._outlook
        return self._planner.settled and found is not None and found.question.job == draft.job

    @property
    def _outlook(self) -> Outlook | None:
        return self._planner.outlook

    # Following the draft

    def _follow(self, board: Board) -> None:
        """Make the form anew and plan anew where the board says something else."""
        draft = board.draft
        if draft is None or (self._saved, self._kind) != (draft.saved, draft.job.get("kind")):
            self._planner.forget()
            self._form = self._fault = None
        if draft is None:
            return
        self._saved, self._kind = draft.saved, draft.job.get("kind")
        if self._form is None or self._form.job is not draft.job:
            self._read(draft)
        self._planner.ask(outlook.question(draft, board, self.services))

    def _read(self, draft: Draft) -> None:
        """The form of the draft; the libraries behind it are loaded in a thread first."""
        if not self._ready:
            if not self._loading:
                self._loading = True
                self.run_worker(self._load(), group="load")
            return
        try:
            self._form, self._fault = outlook.form_of(draft.job), None
        except AccelError as fault:
            self._form, self._fault = None, fault

    async def _load(self) -> None:
        await in_thread("accel-tui loads forms", _load_forms)
        self._ready = True
        self._follow(self.board)
        self._redraw()

    def _redraw(self) -> None:
        self.post_message(Told())
        if self.display:
            self.show(self.board)

    # Showing

    def show(self, board: Board) -> None:
        draft, form = board.draft, self._form
        self.set_class(self.size.width < WIDE_COLUMNS, "-narrow")
        if draft is None and self.editing:
            self._leave()
        self._show_border(draft, form)
        if draft is None or form is None:
            self._show_nothing(draft)
            return
        judged = verdict(board, self._outlook, form.faults)
        told = notes.notes(form, draft, board, self._outlook, self._home)
        self._show_buttons(judged)
        if self.editing:
            self.part.show(form, self._setting(), told)
            self._show_beside(board, form)
        else:
            facts = summary.Facts(
                form, draft, self._outlook, told, self._known(board), self.glyphs, self._home,
                outlook.select_of(draft, board), self._waits(board),
            )  # fmt: skip
            area = self.query_one(Summary).size
            self.query_one(Summary).show(summary.summary(facts, area.width, area.height))

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.show(self.board))

    def _setting(self) -> Any:
        from accel_tui.jobs.forms.matter import Setting

        plan = None if self._outlook is None else self._outlook.plan
        return Setting(None if plan is None else str(plan.facts.get("torch_device")))

    def _known(self, board: Board) -> Mapping[str, Device]:
        return {view.device.key: view.device for view in board.devices}

    def _waits(self, board: Board) -> str | None:
        return None if self._outlook is None else waits(board, self._outlook)

    def _show_nothing(self, draft: Draft | None) -> None:
        lines: tuple[Cell, ...] = ()
        key = self.services.key
        if draft is None:
            change = f"{key('session.open')} opens a session, {key('job.edit')} starts a new job."
            lines = self.empty("No job.", change)
        elif self._fault is not None:
            sign = Piece(f"{self.glyphs.text('invalid')} ", "error")
            lines = ((sign, Piece(self._fault.message, "error")), (Piece(self._fault.remedy or "", "muted"),))
        else:
            lines = self.empty("Loading the fields.")
        self.query_one(Summary).show_nothing(lines)
        self.query_one("#buttons", PartLine).show([])

    def _show_border(self, draft: Draft | None, form: Form | None) -> None:
        key = self.services.key
        if draft is None:
            self.tell((), (Piece(f"{key('session.open')} ", "accent"), Piece("open a session", "muted")))
            return
        state = "" if not draft.edited else "new, not saved" if draft.saved is None else "edited, not saved"
        about: Cell = (Piece(draft.name), Piece(f"  {state}", "warn")) if state else (Piece(draft.name),)
        verbs = [("job.edit", "edit"), ("item.copy", "copy")]
        if self.editing:
            verbs = self.part.keys_now
        facts = [piece for verb, word in verbs
                 for piece in (Piece(f"{key(verb)} ", "accent"), Piece(f"{word}  ", "muted"))]  # fmt: skip
        self.tell(about, tuple(facts) if form is not None else ())

    def _show_buttons(self, judged: Verdict) -> None:
        key = self.services.key
        ready = "plain" if judged.remark else "default"
        launch = "off" if judged.launch else ready
        queue = "off" if judged.queue else ready if judged.launch else "plain"
        chosen = buttons([("job.launch", f"Launch {key('job.launch')}", launch),
                          ("job.queue", f"Queue {key('job.queue')}", queue)])  # fmt: skip
        reason = judged.queue or judged.launch
        told = [Part("", (Piece(f" {reason}", judged.role),))] if reason else []
        if judged.remark:
            told.append(Part("", (Piece(f" {judged.remark}", "warn"),)))
        self.query_one("#buttons", PartLine).show([*chosen, *told])

    def _show_beside(self, board: Board, form: Form) -> None:
        if self.has_class("-narrow"):
            self._show_under(board, form)
            return
        side = self.query_one("#side").size
        lines = self._whole(board, form, side.width - 2)
        if len(lines) > side.height:
            lines = self._whole(board, form, side.width - 2, reasons=False)
        self.query_one("#beside", Lines).show(lines)

    def _show_under(self, board: Board, form: Form) -> None:
        """Below a narrow form: the checks and the command, and where the screen is high the variables."""
        found, under = self._outlook, self.query_one("#under", Lines)
        plan = None if found is None else found.plan
        checks = preview.checks_line(
            () if found is None else found.findings, summary.faulty(form), self.glyphs,
            lambda check: notes.brief(check, form, self._home),
            looking=found is not None and plan is not None and found.checks is None, wait=self._waits(board),
        )  # fmt: skip
        width = under.size.width or self.size.width
        if plan is None:
            under.show([checks, ()])
        elif self.size.height < HIGH_ROWS:
            more = (Piece(f"{self.services.key('job.preview')} ", "accent"), Piece("preview", "muted"))
            under.show([checks, Ends(preview.command(plan, width - 14, self._home)[0], more)])
        else:
            told = summary.variables_and_command(plan, form, width, self.size.height // 4, self._home)
            under.show([Rule("preview"), *told, checks])

    def _whole(self, board: Board, form: Form, width: int, *, reasons: bool = True) -> list[Line]:
        """The preview and the checks in full."""
        found = self._outlook
        labels = {one.name: one.label for one in form.fields}
        lines: list[Line] = [Rule("preview")]
        if found is None:
            return [*lines, (Piece("planned when its fields are right" if form.faults else "planning", "muted"),)]
        if found.fault is not None:
            lines.append((Piece(f"{self.glyphs.text('invalid')} ", "error"), Piece(found.fault.message, "error")))
        lines += preview.preview(found, self._known(board), self._home, width, whole=reasons)
        looking = found.plan is not None and found.checks is None
        told = preview.checks(found.findings, form.faults, labels, self.glyphs, width, looking=looking)
        wait = self._waits(board)
        late: list[Line] = [(Piece(f"{self.glyphs.text('warning')} ", "warn"), Piece(wait, "warn"))] if wait else []
        return [*lines, (), Rule("checks"), *late, *told]

    # Changing

    def on_form_part_changed(self, message: FormPart.Changed) -> None:
        message.stop()
        draft = self.board.draft
        if draft is not None:
            self._form = message.form
            self.services.desk.draft(replace(draft, job=message.form.job))

    def do_job_edit(self) -> None:
        if self.board.draft is None:
            self._ask_session(new=True)
            return
        self._wants_focus = True
        self.add_class("-form")
        self.post_message(Whole(NUMBER, on=True))
        self.show(self.board)

    def _leave(self) -> None:
        self.remove_class("-form")
        self.post_message(Whole(NUMBER, on=False))
        self.show(self.board)
        self.take_focus()

    def on_form_part_placed(self, message: FormPart.Placed) -> None:
        message.stop()
        self.show(self.board)
        # While places change the focus may have been inside already and have been lost again.
        if self._wants_focus or self.screen.focused is None:
            self._wants_focus = False
            self.take_focus()

    def on_form_part_turned(self, message: FormPart.Turned) -> None:
        message.stop()
        self.show(self.board)

    def take_focus(self) -> None:
        target = self.part.target if self.editing else self.query_one(Summary)
        self.focus_on(target)

    def do_job_changes(self) -> None:
        if not self.editing:
            self.do_job_edit()
        self.part.toggle_changes()

    def do_find_open(self) -> None:
        if not self.editing:
            self.do_job_edit()
        self.call_after_refresh(self.part.find)

    def back(self) -> bool:
        if not self.editing:
            return False
        if not self.part.back():
            self._leave()
        return True

    def why_not(self, key: str) -> str | None:
        board = self.board
        draft = board.draft
        if draft is None and (key in _ON_A_JOB or key in ("job.launch", "job.queue")):
            return f"there is no job: {self.services.key('session.open')} opens a session"
        if key in ("job.launch", "job.queue"):
            if self._form is None:
                return "its fields are loaded" if self._fault is None else self._fault.message
            judged = verdict(board, self._outlook, self._form.faults)
            return judged.launch if key == "job.launch" else judged.queue
        if key == "session.save" and self._form is not None and self._form.faults:
            return f"{count(len(self._form.faults), 'field')} to correct"
        if key in ("item.copy", "item.export") and (self._outlook is None or self._outlook.plan is None):
            return "there is no plan to copy"
        return super().why_not(key)

    # Looking closer

    # What verbs open is imported then: the first paint must not wait for it.

    def do_job_preview(self) -> None:
        from accel_tui.tui.screens.sheet import Sheet

        if self._form is not None:
            width = max(40, min(96, self.app.size.width * 4 // 5 - 8))
            lines = [line for line in self._whole(self.board, self._form, width) if not isinstance(line, Rule)]
            self.app.push_screen(Sheet("Preview", lines, about=(Piece("plan, not run", "muted"),)))

    def do_item_copy(self) -> None:
        if self._outlook is not None and self._outlook.plan is not None:
            plan = self._outlook.plan
            words = (preview.quoted(argument.replace(plan.folder, preview.RUN_FOLDER)) for argument in plan.argv)
            self.app.copy_to_clipboard(" ".join(words))
            self.services.desk.say("copied the command; its variables are in the shell script")

    def do_item_export(self) -> None:
        from accel_tui.tui.panes.job.files import copy_script

        if self._outlook is not None:
            self.run_worker(copy_script(self, self._outlook), group="script", exclusive=True)

    # Sessions

    def do_session_open(self) -> None:
        self._ask_session()

    def _ask_session(self, *, new: bool = False) -> None:
        from accel_tui.tui.panes.job.files import open_chosen, sessions_dialog

        def chosen(answer: Chosen | None) -> None:
            if answer is not None:
                open_chosen(self, answer)

        self.app.push_screen(sessions_dialog(self.services, new=new), chosen)

    def do_session_save(self) -> None:
        from accel_tui.tui.panes.job.files import save

        if self.board.draft is not None:
            save(self, self.board.draft)

    # Queueing

    def do_job_launch(self) -> None:
        self._queue("Launch")

    def do_job_queue(self) -> None:
        self._queue("Queue")

    def _queue(self, verb: str) -> None:
        from accel_tui.tui.panes.job.queueing import queue

        if "launch" not in self.board.busy:
            self.run_worker(queue(self, verb), group="submit", exclusive=True)

    def queued(self, draft: Draft, identifier: str) -> None:
        """It is in the queue: the run is what is looked at next."""
        self.services.desk.say(f"queued {draft.name} as {identifier}")
        self.services.desk.select(identifier)
        if self.editing:
            self._leave()


def _load_forms() -> None:
    from accel_tui.jobs import arguments, planning
    from accel_tui.jobs.forms import form, matter

    arguments.table()
    for kind in ("command", "generate", "train"):
        form.new_form(kind).fields  # noqa: B018 - filled here, in the thread
    _ = (planning, matter)
