"""Answers of shell completion: verbs, flags, runs, devices and session files.

It reads what is on disk and asks a supervisor that runs already; it never starts one, and a fault means no answer.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.errors import AccelError

if TYPE_CHECKING:
    import argparse

    from accel_tui.cli.context import Context

_WORDS = ("cpu", "auto", "none")


def complete() -> None:
    """Write the completions that the shell asked for and end the process."""
    import argcomplete

    from accel_tui.cli.parser import full_parser

    _keep_hash_signs()
    parser = full_parser()
    _attach(parser)
    argcomplete.autocomplete(parser, always_complete_options="long")


def _keep_hash_signs() -> None:
    """Escape `#` inside words: the shell takes `FILE#JOB` for one word, argcomplete for a word and a comment."""
    line = os.environ.get("COMP_LINE", "").encode(errors="surrogateescape")
    point = os.environ.get("COMP_POINT", "")
    if point.isdigit():  # counted in bytes
        before, behind = (re.sub(rb"(?<=[^\s\\])#", rb"\\#", part) for part in (line[: int(point)], line[int(point) :]))
        os.environ["COMP_LINE"] = (before + behind).decode(errors="surrogateescape")
        os.environ["COMP_POINT"] = str(len(before))


def _attach(parser: argparse.ArgumentParser) -> None:
    """Give each argument that names a run, a device selection or a session file its completer."""
    completers = {
        "refs": runs, "ref": runs, "after": runs, "before": runs, "devices": devices, "file": sessions,
        "sets": keys,
        "session": sessions, "demo": demonstrations, "theme": themes, "name": nothing, "override": nothing,
    }  # fmt: skip
    for action in parser._actions:  # argparse offers no other way to reach them
        if isinstance(action.choices, dict):
            for child in action.choices.values():
                _attach(child)
        elif action.dest in completers:
            action.completer = completers[action.dest]  # type: ignore[attr-defined] # argcomplete's own protocol


def runs(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """`last`, ids and names of the newest runs."""
    import json

    try:
        folder = _folder(parsed_args) / "runs"
        ids = sorted((entry.name for entry in os.scandir(folder)), reverse=True)[:200]
    except (OSError, AccelError):
        return []
    names = set()
    for ident in ids[:50]:
        try:
            names.add(str(json.loads((folder / ident / "spec.json").read_bytes())["name"]))
        except (OSError, ValueError, KeyError, TypeError):  # a damaged record completes nothing
            continue
    return [word for word in ["last", *sorted(names), *ids] if word.startswith(prefix) and word.isprintable()]


def devices(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Selectors of the devices that a running supervisor knows."""
    from accel_tui.cli.picture import short_key
    from accel_tui.client import starting
    from accel_tui.client.connection import Client

    words = list(_WORDS)
    try:
        folder = _folder(parsed_args)
        if starting.listens(str(folder)):
            client = Client(folder, None, None, os.environ, may_start=False)
            client.connect(start=False)
            words = [short_key(view) for view in client.devices(wait=0).devices] + words
    except (OSError, AccelError):
        return []
    head, comma, _last = prefix.rpartition(",")
    if comma:  # `auto` and `none` stand alone, and what is named already is not offered again
        words = [word for word in words if word not in ("auto", "none", *head.split(","))]
    return [f"{head}{comma}{word}" for word in dict.fromkeys(words) if f"{head}{comma}{word}".startswith(prefix)]


def keys(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """The fields that `--set` takes, for the job's kind where a file is named already."""
    from accel_tui.jobs import kinds
    from accel_tui.jobs.arguments import dotted_names
    from accel_tui.jobs.session import load_session, select_job, split_reference

    wanted = list(kinds.names())
    try:
        path, name = split_reference(parsed_args.file or "")
        wanted = [select_job(load_session(path), name).kind]
    except (OSError, AttributeError, AccelError):  # no file yet, or one that is not ready: every kind
        pass
    declared = [job for kind in wanted if (job := kinds.declaration(kind)) is not None]
    found = sorted({key for job in declared for key in dotted_names(job)})
    return [f"{key}=" for key in found if key.startswith(prefix) and key not in ("kind", "name")]


def _jobs_of(prefix: str) -> list[str]:
    from accel_tui.jobs.session import load_session

    path, _, _ = prefix.rpartition("#")
    try:
        names = [job.name for job in load_session(path).jobs]
    except AccelError:
        return []
    return [f"{path}#{name}" for name in names if f"{path}#{name}".startswith(prefix)]


def sessions(prefix: str, **_: Any) -> list[str]:
    """Session files and folders below the current one; behind `#` the jobs of the file."""
    if "#" in prefix:
        return _jobs_of(prefix)
    head, slash, last = prefix.rpartition("/")
    try:
        entries = sorted(os.scandir(Path(head + slash).expanduser() if slash else "."), key=lambda entry: entry.name)
    except OSError:
        return []
    found = []
    for entry in entries:
        if entry.name.startswith(last) and (last.startswith(".") or not entry.name.startswith(".")):
            if entry.is_dir():
                found.append(f"{head}{slash}{entry.name}/")
            elif entry.name.endswith(".toml"):
                found.append(f"{head}{slash}{entry.name}")
    return found


def demonstrations(prefix: str, **_: Any) -> list[str]:
    """Invented servers."""
    from accel_tui.vendors.demo import demo_names

    return [name for name in demo_names() if name.startswith(prefix)]


def themes(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Shipped themes and the user's own."""
    from accel_tui.cli.plain import theme_names

    try:
        return [name for name in theme_names(_context(parsed_args)) if name.startswith(prefix)]
    except AccelError:
        return []


def nothing(**_: Any) -> list[str]:
    """No file name, which the shell would offer else."""
    return []


def _folder(parsed_args: argparse.Namespace) -> Path:
    return _context(parsed_args).folder_in_force


def _context(parsed_args: argparse.Namespace) -> Context:
    from accel_tui.cli.context import Context, own_environment
    from accel_tui.cli.output import Output

    for name in ("demo", "state_dir"):
        if not hasattr(parsed_args, name):
            setattr(parsed_args, name, None)
    environment = own_environment()
    return Context(parsed_args, (), Output(environment), environment)
