"""Session files: which there are, and opening one onto the board. Opening executes nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.client.quickstart import SESSION, session_place
from accel_tui.config.shipped import shipped_folder
from accel_tui.config.state import state_folder
from accel_tui.model.errors import AccelError, FileError
from accel_tui.tui.board import Draft, Level, OpenSession

if TYPE_CHECKING:
    from accel_tui.jobs.session import Session
    from accel_tui.tui.services import Services


def session_files(services: Services) -> list[Path]:
    """The session files at hand: those of the folder that the screen was started in, the person's own, the shipped.

    The quickstart's own file, with the paths of here, stands in place of the shipped one that it was made from.
    """
    made = session_place(state_folder(services.settings, services.desk.board.host, services.environment))
    folders = [Path(services.cwd), services.config_dir / "sessions"]
    with contextlib.suppress(FileError):  # an install without them says so in `doctor`
        folders.append(shipped_folder("sessions"))
    found: list[Path] = []
    for number, folder in enumerate(folders):
        try:
            files = sorted(path for path in folder.glob("*.toml") if path.is_file())
        except OSError:
            continue
        found += files if number else [path for path in files if looks_like_session(path)]
    if made.is_file():
        found = [made, *(path for path in found if path.name != SESSION)]
    return found


def looks_like_session(path: Path) -> bool:
    """Whether a file of a folder of all sorts holds jobs: its first 64 KiB name one."""
    try:
        with path.open("rb") as stream:
            return b"[[job]]" in stream.read(1 << 16)
    except OSError:
        return False


async def open_session(services: Services, path: str, job: str | None = None) -> bool:
    """Put a session and its first job, or the one of that name, onto the board; False after a fault was told.

    Reading happens in a thread: the check of job fields needs libraries that are slow to load.
    """
    try:
        session = await asyncio.to_thread(_read, path)
    except AccelError as error:
        name = error.message.replace(f"{Path(path).parent}/", "")  # one line has no room for whole paths
        services.desk.say(name, Level.ERROR, error.remedy)
        return False
    drafts = drafts_of(session)
    chosen = drafts.get(job or "") or next(iter(drafts.values()))
    title = session.title or Path(session.path).stem
    services.desk.session(OpenSession(session.path, title, tuple(drafts), session.select))
    services.desk.draft(chosen)
    return True


def drafts_of(session: Session) -> Mapping[str, Draft]:
    """The jobs of a session by name."""
    found = {}
    for job in session.jobs:
        fields: dict[str, Any] = job.model_dump(mode="json")
        folder = str(Path(session.path).parent)
        found[job.name] = Draft(fields, session.selector(job), session.path, folder, saved=fields)
    return found


def _read(path: str) -> Session:
    from accel_tui.jobs.session import load_session

    return load_session(path)
