"""A plan as a bash script that runs it without accel-tui: exact to the byte, and clean on a terminal."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.jobs.containers import MOUNTED_CONFIGURATION
from accel_tui.jobs.kinds import has_worker
from accel_tui.jobs.launchers import PORT_PLACEHOLDER
from accel_tui.jobs.launchers.accelerate import CONFIGURATION
from accel_tui.model.plans import EnvironmentAction
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from accel_tui.jobs.spec import Job
    from accel_tui.model.plans import EnvironmentChange, Plan

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# What a shell or its `cd` adds by itself; a run does not have it.
_OF_THE_SHELL = ("_", "SHLVL", "OLDPWD", "COLUMNS", "LINES")
_FREE_PORT = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
_PORT_ARGUMENTS = (f"--rdzv-endpoint=127.0.0.1:{PORT_PLACEHOLDER}", f"--main_process_port={PORT_PLACEHOLDER}")


def quote(text: str) -> str:
    """`text` as one word of bash. Nothing in the result acts on a terminal; bytes that are no UTF-8 stay exact."""
    if _PLAIN.fullmatch(text):
        return text
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def script(
    plan: Plan, base: Mapping[str, str], secrets: Collection[str] = frozenset(), *, job: Job | None = None,
    worker: bytes | None = None, folder: str | None = None, complete: bool = False,
) -> str:  # fmt: skip
    """The script.

    Args:
        plan: What it runs. Its folder is made when it is not there; give a plan for showing a folder of its own.
        base: The environment of the submission.
        secrets: Names of secrets that the run gets besides those of the plan; none is written down.
        job: For kinds with a worker: makes the script self-contained. Without it the plan's folder must have
            `spec.json` and `worker.pyz`, as a run folder does.
        worker: The worker's archive; by default the one of this installation.
        folder: Where the script works in place of the plan's folder, so that the record of a run stays as it is;
            its processes then do not bear the run's mark.
        complete: Write out `base` as well, for a script that is run from another shell, such as `run.sh`.
    """
    origin = plan.folder
    if folder is not None:
        plan = _moved(plan, folder)
    lines = ["#!/usr/bin/env bash", f"# {_comment(f'job {plan.job} ({plan.kind})')}, planned by accel-tui"]
    if plan.devices:
        lines.append(f"# devices: {_comment(', '.join(plan.devices))}; nothing is reserved")
    lines.append("set -eu")
    lines += _files(plan, origin, job, worker)
    if complete:
        changed = {change.name for change in plan.environment}
        lines += [f"export {name}={quote(value)}" for name, value in sorted(base.items())
                  if name not in changed and name not in secrets and _usable(name)]  # fmt: skip
    lines += [line for change in plan.environment for line in _change(change)]
    lines += _prepared(plan)
    cleared = "".join(f" -u {name}" for name in _OF_THE_SHELL)
    lines.append(f"exec /usr/bin/env{cleared} --chdir={quote(plan.cwd)} \\")
    lines.append("  " + " \\\n  ".join(_words(plan)))
    return "\n".join(lines) + "\n"


def _moved(plan: Plan, folder: str) -> Plan:
    """The plan with every mention of its folder, whose name holds the run's id, replaced."""

    def change(old: EnvironmentChange) -> EnvironmentChange:
        if old.name == "ACCEL_TUI_RUN":
            return dataclasses.replace(old, value=f"{old.value}-by-hand")
        return old if old.value is None else dataclasses.replace(old, value=old.value.replace(plan.folder, folder))

    argv = tuple(argument.replace(plan.folder, folder) for argument in plan.argv)
    return dataclasses.replace(plan, argv=argv, folder=folder, environment=tuple(map(change, plan.environment)))


def _usable(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in (
        *_OF_THE_SHELL,
        "PWD",
        "BASHOPTS",
        "SHELLOPTS",
        "UID",
        "EUID",
        "PPID",
    )


def _comment(text: str) -> str:
    return sanitise(text, limit=200).replace("\n", " ")


def _files(plan: Plan, origin: str, job: Job | None, worker: bytes | None) -> Iterator[str]:
    """What the worker, or accelerate, reads. `origin` is the folder that the plan was made for."""
    folder = quote(plan.folder)
    if has_worker(plan.kind) and (job is not None or plan.folder != origin):
        yield "umask 077"
        yield f"mkdir -p -- {folder}/events {folder}/artefacts"
        if job is not None:
            yield from _worker_files(plan, job, worker)
        else:
            yield f"cp -- {quote(origin)}/spec.json {quote(origin)}/worker.pyz {folder}/"
    if any(CONFIGURATION in argument for argument in plan.argv):
        yield f"mkdir -p -- {folder}"
        yield from _document(
            f"{folder}/accelerate.json", json.dumps(json.loads(Path(CONFIGURATION).read_text("utf-8")))
        )


def _worker_files(plan: Plan, job: Job, worker: bytes | None) -> Iterator[str]:
    if worker is None:
        from accel_tui_worker.archive import build

        worker = build()
    identifier = next((change.value for change in plan.environment if change.name == "ACCEL_TUI_RUN"), "by-hand")
    spec = {"schema": 1, "id": identifier, "name": job.name, "kind": job.kind, "job": job.model_dump(mode="json")}
    yield from _document(f"{quote(plan.folder)}/spec.json", json.dumps(spec))
    yield f"base64 -d > {quote(plan.folder)}/worker.pyz <<'ACCEL_TUI_END'"
    yield base64.encodebytes(worker).decode("ascii").rstrip("\n")
    yield "ACCEL_TUI_END"


def _document(path: str, text: str) -> Iterator[str]:
    """One line of ASCII, so that neither the end mark nor a control byte can stand in it."""
    yield f"cat > {path} <<'ACCEL_TUI_END'"
    yield text
    yield "ACCEL_TUI_END"


def _change(change: EnvironmentChange) -> Iterator[str]:
    reason = _comment(change.reason)
    if change.action is EnvironmentAction.UNSET:
        yield f"unset -v {change.name}  # {reason}"
    elif change.action is EnvironmentAction.SET and change.value is None:
        yield f'export {change.name}="${{{change.name}:?set {change.name}}}"  # {reason}'
    elif change.action is EnvironmentAction.SET:
        yield f"export {change.name}={quote(change.value or '')}  # {reason}"


def _prepared(plan: Plan) -> Iterator[str]:
    """Values that only the moment of the start can give."""
    if not plan.ports and any(argument in _PORT_ARGUMENTS for argument in plan.argv):
        python = quote(str(plan.facts.get("python", "python3")))
        yield f'port="$({python} -I -c {quote(_FREE_PORT)})"'
    for index in plan.secret_arguments:
        variable = f"ACCEL_TUI_ARGUMENT_{index}"
        yield f'argument_{index}="${{{variable}:?set {variable} to the argument that is secret}}"'
        yield f"unset -v {variable}"


def _words(plan: Plan) -> Iterator[str]:
    for index, argument in enumerate(plan.argv):
        if argument == MOUNTED_CONFIGURATION:
            continue  # it is written into the folder, which is mounted
        if index in plan.secret_arguments:
            yield f'"$argument_{index}"'
        elif not plan.ports and argument in _PORT_ARGUMENTS:
            yield argument.removesuffix(PORT_PLACEHOLDER) + '"$port"'
        elif argument == f"--config_file={CONFIGURATION}":
            yield f"--config_file={quote(plan.folder)}/accelerate.json"
        else:
            yield quote(argument)
