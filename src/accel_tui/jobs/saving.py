"""Writing a job into a session file. What stands in the file already keeps its comments and its order."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import AoT, Table
from tomlkit.toml_document import TOMLDocument

from accel_tui.jobs.forms.form import Form
from accel_tui.jobs.literals import find_secret
from accel_tui.jobs.paths import resolve_paths
from accel_tui.jobs.session import load_session
from accel_tui.jobs.spec import Job, parse_job
from accel_tui.model.errors import AccelError, FileError
from accel_tui.model.secrets import looks_secret

Leaf = tuple[tuple[str, ...], Any]


def save_job(
    path: Path, job: Mapping[str, Any], *, saved: Mapping[str, Any] | None = None, select: str | None = None,
    title: str | None = None, folder: str = "/",
) -> int:  # fmt: skip
    """Write a job into the session file at `path`, new or not; how many fields the file says otherwise now.

    Args:
        job: Its fields as JSON values.
        saved: The job as the file has it, by whose name it is found there; None adds it.
        select: The file's device selector; None leaves it.
        folder: What relative paths in `job` are meant from.

    Raises:
        FileError: the job holds a secret, the file is no session or cannot be written.
        JobFieldError: a field is wrong.
    """
    checked = parse_job(job)
    _refuse_secrets(checked)
    # A path that was not touched stays as the file writes it.
    there = Path(os.path.realpath(path))
    document = _read(there)
    absolute = resolve_paths(checked, Path(folder))
    meant = (checked if Path(folder) == there.parent else absolute).model_dump(mode="json")
    count = _write_head(document, select, title)
    table = _find(document, meant["name"] if saved is None else saved.get("name"))
    if table is not None:
        count += _write_job(table, meant, saved)
        text = tomlkit.dumps(document)
    else:
        added = [(path, value) for path, value in _leaves(meant) if not _is_default(meant, path, value)]
        text = "\n\n".join(filter(None, (tomlkit.dumps(document).strip("\n"), _job_text(added))))
        count += len(added)
    _replace(there, text, checked.name, absolute)
    return count


def _refuse_secrets(job: Job) -> None:
    fields = job.model_dump(mode="json")
    found = find_secret(fields)
    argv = fields.get("command", {}).get("argv", [])
    if found is None and not any(map(looks_secret, argv)):
        return
    reason = "an argument looks like a token or a URL with a password" if found is None else found.reason
    raise FileError(f"not saved: {reason}", remedy='hand it over by variable: env_from = ["HF_TOKEN"]')


def _read(path: Path) -> TOMLDocument:
    try:
        return tomlkit.parse(path.read_text("utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileError(f"{path} cannot be read: {reason}", remedy="choose another file") from None
    except ParseError as error:
        raise FileError(f"{path} is no TOML: {error}", remedy="correct it first, or choose another file") from None


def _find(document: TOMLDocument, name: Any) -> Table | None:
    jobs = document.get("job")
    if jobs is not None and not isinstance(jobs, AoT):
        raise FileError("`job` is not written as [[job]]", remedy="choose another file")
    return next((one for one in jobs or () if one.get("name") == name), None)


def _write_job(table: Table, job: dict[str, Any], saved: Mapping[str, Any] | None) -> int:
    before = dict(_leaves(_defaults_filled(table.unwrap())))
    if saved is not None:
        # Paths stand in the file as they were written, in `saved` as they are meant: `saved` is what to compare with.
        before |= dict(_leaves(saved))
    after = dict(_leaves(job))
    changed = [(path, value) for path, value in after.items() if before.get(path) != value]
    gone = [path for path in before if path not in after]
    for path, value in changed:
        _put(table, path, value, usual=_is_default(job, path, value))
    for path in gone:
        _put(table, path, None, usual=True)
    return len(changed) + len(gone)


def _defaults_filled(table: dict[str, Any]) -> dict[str, Any]:
    try:
        return parse_job(table).model_dump(mode="json")
    except AccelError:
        return table


def _job_text(leaves: list[Leaf]) -> str:
    table = tomlkit.table()
    for path, value in sorted(leaves, key=lambda leaf: len(leaf[0])):
        _put(table, path, value, usual=False)
    document, jobs = tomlkit.document(), tomlkit.aot()
    jobs.append(table)
    document.append("job", jobs)
    return tomlkit.dumps(document)


def _write_head(document: TOMLDocument, select: str | None, title: str | None) -> int:
    """The session's title, for a new file, and its selector."""
    count = 0
    for name, key, value in (("session", "title", title), ("devices", "select", select)):
        if value is None or (key == "title" and name in document):
            continue
        if name not in document:
            document.append(name, tomlkit.table())
        table = document[name]
        if not isinstance(table, Table):
            raise FileError(f"`{name}` is no table", remedy="choose another file")
        if table.get(key) != value:
            table[key] = value
            count += 1
    return count


def _leaves(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every value by its path; tables with names of their own, such as `launch.env`, entry by entry."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _is_default(job: Mapping[str, Any], path: tuple[str, ...], value: Any) -> bool:
    form = Form(job)
    field = form.field(path)
    if field is None or field.required or path == ("kind",):
        return False
    return field.library is None and bool(value == field.default)


def _put(table: Table, path: tuple[str, ...], value: Any, *, usual: bool) -> None:
    """Write a value, or take it out where it is the default and stands for itself."""
    if len(path) > 1:
        if path[0] not in table:
            if usual:
                return
            table.append(path[0], tomlkit.table())
        _put(table[path[0]], path[1:], value, usual=usual)
    elif usual or value is None:
        table.pop(path[0], None)
    else:
        table[path[0]] = value


def _replace(path: Path, text: str, name: str, meant: Job) -> None:
    """Write beside the file, read that as a session, and only then put it in place."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".toml", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            _prove(Path(draft), name, meant)
            Path(draft).chmod(mode)
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except (OSError, UnicodeEncodeError, TOMLKitError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path} cannot be written: {reason}", remedy="choose another place") from None


def _prove(draft: Path, name: str, meant: Job) -> None:
    """What was written reads as what was meant."""
    try:
        found = {job.name: job for job in load_session(draft).jobs}.get(name)
    except FileError as error:
        raise FileError(f"not saved: {error.message}", remedy=error.remedy) from None
    if found != meant:
        raise FileError("not saved: the file would not read as this job", remedy="choose a new file")
