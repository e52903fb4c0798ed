"""Sessions and scripts: what the Job pane reads and writes, each away from the event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.config.shipped import shipped_folder
from accel_tui.model.errors import AccelError, FileError
from accel_tui.tui.background import in_thread
from accel_tui.tui.board import Draft
from accel_tui.tui.messages import GoTo
from accel_tui.tui.naming import count, selector
from accel_tui.tui.panes.job import outlook
from accel_tui.tui.screens.confirm import Confirm
from accel_tui.tui.screens.save import SaveDialog
from accel_tui.tui.screens.sessions import Chosen, SessionsDialog
from accel_tui.tui.sessions import open_session, session_files
from accel_tui.tui.widgets.lines import Line
from accel_tui.tui.widgets.pieces import Piece

if TYPE_CHECKING:
    from accel_tui.tui.panes.job import JobPane
    from accel_tui.tui.panes.job.outlook import Outlook
    from accel_tui.tui.services import Services

KINDS = (
    ("train", "fine-tunes a model on text"),
    ("generate", "generates text from prompts"),
    ("command", "runs a program with the planned environment"),
)
CLIPBOARD_BYTES = 60_000
"""More than this terminals do not take through OSC 52."""


def sessions_dialog(services: Services, *, new: bool = False) -> SessionsDialog:
    """The list of sessions and kinds."""
    return SessionsDialog(lambda: session_files(services), _shipped(), KINDS, new=new)


def _shipped() -> Path | None:
    try:
        return shipped_folder("sessions")
    except FileError:  # an install without them: `doctor` says so
        return None


def open_chosen(pane: JobPane, chosen: Chosen) -> None:
    """Put what was chosen onto the board; edits that were not saved are asked about first."""
    draft = pane.board.draft
    if draft is None or not draft.edited or draft.saved is None:
        _open(pane, chosen)
        return
    lines = [
        (Piece(draft.name, "strong", bold=True), Piece(" was edited and not saved.")),
        (Piece("Its changes are lost when another job is opened.", "warn"),),
    ]
    question = Confirm("Open another job", lines, yes="Open it", key="o")
    pane.app.push_screen(question, lambda sure: _open(pane, chosen) if sure else None)


def _open(pane: JobPane, chosen: Chosen) -> None:
    pane.post_message(GoTo(pane.number))
    if chosen.kind is None:
        pane.run_worker(open_session(pane.services, chosen.path, chosen.job), group="open", exclusive=True)
        return
    pane.services.desk.session(None)
    pane.services.desk.draft(Draft({"name": chosen.kind, "kind": chosen.kind}, cwd=pane.services.cwd))
    pane.call_after_refresh(pane.do_job_edit)


@dataclass(frozen=True)
class _Saving:
    """Where a draft goes, and what of it."""

    draft: Draft
    target: Path
    same: bool
    """It is the file that the draft came from."""
    select: str
    picked: str


def save(pane: JobPane, draft: Draft) -> None:
    """Ask where to, ask before a file is changed, write, and read what was written."""
    services = pane.services
    path = Path(draft.source) if draft.source and draft.source.endswith(".toml") else None
    own = path if path is not None and path.parent != _shipped() else None
    proposed = own or services.config_dir / "sessions" / f"{_file_name(draft.name)}.toml"
    told: list[Line] = [(Piece("Of a file that is there this job alone is written; comments stay.", "muted"),)]

    def chosen(answer: str | None) -> None:
        if answer is None:
            return
        target = Path(answer)
        picked = selector(view.device for view in pane.board.picked())
        saving = _Saving(draft, target, target == own, outlook.select_of(draft, pane.board), picked)
        _with_consent(pane, target, f"the job {draft.name}", lambda there: _save(pane, saving, there=there))

    dialog = SaveDialog("Save as session", str(proposed), told, services.cwd, ".toml")
    pane.app.push_screen(dialog, chosen)


async def _save(pane: JobPane, saving: _Saving, *, there: bool) -> None:
    services, draft = pane.services, saving.draft
    # A file may hold other jobs: what was picked is written to this one, not to the whole session.
    job = {**draft.job, **({"devices": saving.picked} if saving.picked and there else {})}

    def write() -> int:
        from accel_tui.jobs.saving import save_job

        return save_job(
            saving.target, job, saved=draft.saved if saving.same else None, select=None if there else saving.select,
            title=None if there else draft.name, folder=draft.cwd or services.cwd,
        )  # fmt: skip

    try:
        number = await in_thread("accel-tui saves", write)
    except AccelError as fault:
        services.desk.say(fault)
        return
    if await open_session(services, str(saving.target), str(job["name"])):
        services.desk.say(f"saved {count(number, 'field')} in {saving.target}")


async def copy_script(pane: JobPane, found: Outlook) -> None:
    """The plan as a bash script: to the clipboard where it takes that much, and to a file."""
    services = pane.services
    identifier = time.strftime("%Y%m%d-%H%M%S", time.gmtime(services.clock())) + "-hand"
    folder = str(Path(services.cwd) / f"accel-tui-{identifier}")
    try:
        text = await in_thread("accel-tui writes", lambda: outlook.shell_script(found, folder, identifier))
    except AccelError as fault:
        services.desk.say(fault)
        return
    size = f"{len(text) / 1024:.0f} KiB"
    fits = len(text) <= CLIPBOARD_BYTES
    if fits:
        pane.app.copy_to_clipboard(text)
    told: list[Line] = [
        (Piece(f"Copied to the clipboard, {size}." if fits else f"With {size} too long for the clipboard.", "muted"),),
        (Piece("It runs the job without accel-tui and reserves nothing.", "muted"),),
    ]
    name = _file_name(pane.board.draft.name if pane.board.draft is not None else "job")
    proposed = str(Path(services.cwd) / f"{name}.sh")

    def chosen(answer: str | None) -> None:
        if answer is not None:
            target = Path(answer)
            _with_consent(pane, target, "all of it", lambda _: _save_script(pane, target, text))

    pane.app.push_screen(SaveDialog("Copy as shell script", proposed, told, services.cwd, ".sh"), chosen)


async def _save_script(pane: JobPane, target: Path, text: str) -> None:
    try:
        await in_thread("accel-tui writes", lambda: _write_script(target, text))
    except AccelError as fault:
        pane.services.desk.say(fault)
    else:
        pane.services.desk.say(f"wrote {target}")


def _with_consent(pane: JobPane, target: Path, what: str, act: Callable[[bool], Coroutine[Any, Any, None]]) -> None:
    """Do `act` at once, or after the question where the file is there; it is told whether it is."""

    def sure(answer: bool | None) -> None:
        if answer:
            pane.run_worker(act(True), group="write", exclusive=True)

    async def look() -> None:
        if await in_thread("accel-tui looks", target.exists):
            pane.app.push_screen(_overwrite(target, what), sure)
        else:
            await act(False)

    pane.run_worker(look(), group="look-there", exclusive=True)


def _write_script(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8", errors="surrogateescape")
        target.chmod(0o700)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}", remedy="choose another place") from None


def _overwrite(target: Path, what: str) -> Confirm:
    lines = [
        (Piece(str(target), "strong", bold=True), Piece(" is there already.")),
        (Piece(f"Saving writes {what} over.", "warn"),),
    ]
    return Confirm("Overwrite", lines, yes="Overwrite it", key="o", no="Keep it")


def _file_name(name: str) -> str:
    """The job's name as far as a file may be called that."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".-")
    return kept[:80] or "job"
