"""Session files: jobs, a device selection and view settings. Opening one executes nothing and follows no URL."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accel_tui.jobs import selectors, toml
from accel_tui.jobs.faults import JobFieldError, did_you_mean, dotted, field_names
from accel_tui.jobs.literals import find_secret
from accel_tui.jobs.paths import resolve_paths
from accel_tui.jobs.spec import Job, parse_job
from accel_tui.model.errors import FileError, UsageError

MAX_BYTES = 1 << 20
_TOP = ("session", "devices", "job")
SESSION_FIELDS = {
    "title": "What the file is for, shown at the top of the screen.",
    "theme": "Theme of the screen while the file is open.",
    "layout": "Layout of the screen while the file is open.",
}
"""The fields of `[session]` with what they are for."""


@dataclass(frozen=True)
class Session:
    """One session file, checked."""

    path: str
    """Absolute."""
    jobs: tuple[Job, ...]
    """Relative paths inside are resolved against the file's folder."""
    select: str | None = None
    """The file's own device selector."""
    title: str | None = None
    theme: str | None = None
    layout: Any = None
    warnings: tuple[str, ...] = field(default=())

    def selector(self, job: Job, flag: str | None = None) -> str:
        """The selector that counts: the flag's, the job's, the session's, `auto`."""
        return flag or job.devices or self.select or "auto"


def load_session(path: str | os.PathLike[str]) -> Session:
    """The session in the file at `path`.

    Raises:
        FileError: it cannot be read, is no TOML, has an unknown or wrong field, a literal secret, two jobs of one
            name, or no job. The message names file, line and field.
    """
    file = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - no resolving of symbolic links
    name = os.fspath(path)
    text = _read(file, name)
    document = toml.parse(text, name)
    reader = _Reader(name, text)
    reader.known(document, (), _TOP)
    head = reader.table(document, "session")
    reader.known(head, ("session",), tuple(SESSION_FIELDS))
    devices = reader.table(document, "devices")
    reader.known(devices, ("devices",), ("select",))
    select = reader.string(devices, ("devices", "select"))
    if select is not None:
        try:
            selectors.parse(select)
        except UsageError as error:
            raise reader.fault(("devices", "select"), error.message, error.remedy) from None
    tables = document.get("job", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise reader.fault(("job",), "must be written as [[job]]", "write [[job]] with two brackets")
    if not tables:
        raise FileError(f"{name}: holds no job", remedy="add a [[job]] table with `name` and `kind`")
    jobs = [reader.job(table, number, file.parent) for number, table in enumerate(tables)]
    _refuse_duplicates(reader, jobs)
    return Session(
        str(file),
        tuple(jobs),
        select,
        reader.string(head, ("session", "title")),
        reader.string(head, ("session", "theme")),
        head.get("layout"),
    )


def _read(file: Path, name: str) -> str:
    try:
        # Not blocking: a FIFO or a device in place of the file must not hang the reader.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise FileError(
                    f"{name}: is a folder", remedy="name a session file, such as sessions/cpu-generate.toml"
                )
            if not stat.S_ISREG(mode):
                raise FileError(f"{name}: is not an ordinary file", remedy="name a session file")
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise FileError(f"{name}: there is no such file", remedy=_neighbours(file)) from None
    except IsADirectoryError:
        raise FileError(f"{name}: is a folder", remedy="name a session file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FileError(f"{name}: cannot be read: {reason}", remedy="check the path and its rights") from None
    if len(content) > MAX_BYTES:
        raise FileError(f"{name}: is larger than 1 MiB, so it is no session file", remedy="name a session file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(f"{name}:{line}: is not UTF-8 text", remedy="save the file as UTF-8") from None
    if "\0" in text:
        raise FileError(f"{name}: holds null bytes, so it is no text file", remedy="name a session file")
    return text


def _neighbours(file: Path) -> str:
    from accel_tui.jobs.faults import nearest

    try:
        names = [entry.name for entry in os.scandir(file.parent) if entry.name.endswith(".toml")]
    except OSError:
        return f"there is no folder {file.parent} either" if not file.parent.exists() else "check the path"
    close = nearest(file.name, names)
    return f"did you mean {close!r}?" if close else "check the path"


@dataclass(frozen=True)
class _Reader:
    """The file at hand, for messages that name place and field."""

    name: str
    text: str

    def fault(
        self, path: tuple[str | int, ...], reason: str, remedy: str | None = None, job: str | None = None
    ) -> FileError:
        line = toml.line_of(self.text, path)
        place = self.name if line is None else f"{self.name}:{line}"
        # Inside a job the field is named as `--set` would: `train.arguments.x`.
        shown = dotted(path[2:]) if path[:1] == ("job",) and len(path) > 2 else dotted(path)
        owner = "" if job is None else f"job {job!r}: "
        return FileError(f"{place}: {owner}{shown}: {reason}", remedy=remedy or "correct this field")

    def known(self, table: dict[str, Any], path: tuple[str, ...], names: tuple[str, ...]) -> None:
        for key in table:
            if key not in names:
                raise self.fault((*path, key), "unknown field", did_you_mean(key, names))

    def table(self, document: dict[str, Any], key: str) -> dict[str, Any]:
        content = document.get(key, {})
        if not isinstance(content, dict):
            raise self.fault((key,), "must be a table", f"write [{key}]")
        return content

    def string(self, table: dict[str, Any], path: tuple[str, str]) -> str | None:
        content = table.get(path[1])
        if content is not None and not isinstance(content, str):
            raise self.fault(path, "must be text", "put it in quotes")
        return content

    def job(self, table: dict[str, Any], number: int, folder: Path) -> Job:
        given = table.get("name")
        owner = given if isinstance(given, str) else f"number {number + 1}"
        try:
            return resolve_paths(parse_job(table), folder)
        except JobFieldError as error:
            raise self.fault(("job", number, *error.path), error.reason, error.remedy, owner) from None


def _refuse_duplicates(reader: _Reader, jobs: list[Job]) -> None:
    seen: dict[str, int] = {}
    for number, job in enumerate(jobs):
        if job.name in seen:
            reason = f"{job.name!r} is the name of job number {seen[job.name] + 1} too"
            raise reader.fault(("job", number, "name"), reason, "give each job a `name` of its own")
        seen[job.name] = number


def split_reference(text: str) -> tuple[str, str | None]:
    """`FILE#JOB` as its two parts; a file whose own name holds the mark is found when it exists."""
    if Path(text).is_file() or "#" not in text:
        return text, None
    path, _, job = text.rpartition("#")
    return path, job


def select_job(session: Session, name: str | None) -> Job:
    """The job of that name, or the only one.

    Raises:
        UsageError: several jobs and no name, or no job of that name; the message lists the names.
    """
    names = [job.name for job in session.jobs]
    if name is None:
        if len(session.jobs) == 1:
            return session.jobs[0]
        raise UsageError(
            f"{session.path} holds {len(names)} jobs: {', '.join(names)}",
            remedy=f"name one: {os.path.basename(session.path)}#{names[0]}",  # noqa: PTH119
        )
    for job in session.jobs:
        if job.name == name:
            return job
    raise UsageError(
        f"{session.path} holds no job {name!r}; it holds {', '.join(names)}", remedy=did_you_mean(name, names)
    )


def apply_sets(job: Job, sets: list[str] | tuple[str, ...], cwd: str | os.PathLike[str] | None = None) -> Job:
    """`job` with each dotted `KEY=VALUE` applied; VALUE is read as TOML, and as text where it is none.

    Relative paths among the values are meant from `cwd`, by default the process's own.

    Raises:
        UsageError: no `=`, an unknown key (with the nearest name), or a value of the wrong type.
        FileError: a literal secret.
    """
    for setting in sets:
        key, equals, raw = setting.partition("=")
        path = tuple(key.strip().split("."))
        if not equals or not all(path):
            raise UsageError(f"--set {setting!r}: expected KEY=VALUE", remedy="such as --set launch.processes=2")
        job = _apply_set(job, path, raw, Path(cwd or Path.cwd()))
    return job


def _apply_set(job: Job, path: tuple[str, ...], raw: str, cwd: Path) -> Job:
    given = toml.value(raw)
    probe: Any = given
    for part in reversed(path):
        probe = {part: probe}
    secret = find_secret(probe)
    if secret is not None:
        raise FileError(f"--set {dotted(path)}: {secret.reason}", remedy=secret.remedy)
    try:
        changed = _replaced(job, path, given)
    except JobFieldError as error:
        if error.kind == "type" and not isinstance(given, str) and error.path == path:
            # `--set model.revision=1234` means the text.
            try:
                changed = _replaced(job, path, raw)
            except JobFieldError:
                raise _set_error(path, error) from None
        else:
            raise _set_error(path, error) from None
    return resolve_paths(changed, cwd, only=path)


def _set_error(path: tuple[str, ...], error: JobFieldError) -> UsageError:
    inside = "" if error.path == path else f" ({dotted(error.path)})"
    return UsageError(f"--set {dotted(path)}: {error.reason}{inside}", remedy=error.remedy)


def _replaced(job: Job, path: tuple[str, ...], value: Any) -> Job:
    document = job.model_dump(mode="json")
    table: Any = document
    for position, part in enumerate(path[:-1]):
        names = field_names(type(job), path[:position])
        if names and part not in names:
            raise JobFieldError(path[: position + 1], "unknown field", remedy=did_you_mean(part, names), kind="unknown")
        if not isinstance(table, dict):
            raise JobFieldError(path[: position + 1], "unknown field", kind="unknown")
        if table.get(part) is None:
            table[part] = {}
        table = table[part]
    if not isinstance(table, dict):
        raise JobFieldError(path, "unknown field", kind="unknown")
    table[path[-1]] = value
    return parse_job(document)
