"""`exec`: run a program here, on this terminal, with devices reserved for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from accel_tui.cli.choosing import device_argument, from_command
from accel_tui.cli.output import Styled
from accel_tui.cli.planned import apart_from_a_run, inventory, make_plan, refuse_absent
from accel_tui.model.errors import CheckRefusedError, ExitCode, NotPossibleError, StateFolderError
from accel_tui.model.plans import CheckLevel
from accel_tui.model.times import time_text

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from accel_tui.cli.context import Context
    from accel_tui.model.devices import Inventory
    from accel_tui.model.plans import Plan

EXAMPLE = "accel-tui exec --devices gaudi:0 -- python"

RETRY_SECONDS = 0.5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    device_argument(parser, required=True)
    parser.add_argument("--yes", action="store_true", help="answer the questions of the checks with yes")


def run(context: Context) -> int:
    """Take the devices, run the program in the foreground, give them back; the program's exit code."""
    from accel_tui.cli.foreground import run_here
    from accel_tui.jobs.planning import environment_for

    context.command = context.command or (context.environment.get("SHELL") or "/bin/sh",)
    try:
        plan, locks = _reserve(context)
        slot = _take_slot(context) if "cpu" in plan.devices else None
    except KeyboardInterrupt:
        context.output.note("nothing was started")
        return int(ExitCode.INTERRUPTED)
    context.say_simulated()
    environment = environment_for(plan, dict(context.environment), {})
    code = run_here(context.command, environment, [*locks.values(), *([] if slot is None else [slot[0]])])
    if slot is not None:
        _give_slot_back(context, *slot)
    _give_back(context, locks)
    return code


def _reserve(context: Context) -> tuple[Plan, dict[str, int]]:
    """The plan and the descriptors of its locks; waits for devices that others hold, saying who."""
    from accel_tui.keeper import locks

    folder = _lock_folder(context)
    told: str | None = None
    while True:
        devices = inventory(context, start=True)
        plan = apart_from_a_run(make_plan(context, from_command(context), devices))
        _refuse(context, plan)
        busy = plan.waiting_for or _open_elsewhere(plan, devices)
        if busy is None:
            paths = sorted(locks.lock_path(folder, key) for key in plan.devices if key != "cpu")
            try:
                return plan, dict(zip(paths, locks.take(paths, _claim()), strict=True))
            except locks.Busy as held:
                busy = f"{held.path.rpartition('/')[2].removesuffix('.lock')}, held by {held.holder or 'another'}"
            except locks.LockFolderError as fault:
                raise StateFolderError(str(fault), remedy="set ACCEL_TUI_LOCK_DIR to a safe folder") from None
        if busy != told:
            context.output.note(context.output.glyph("queued"), f" waits for {busy}; Ctrl+C gives up")
            told = busy
        time.sleep(RETRY_SECONDS)


def _take_slot(context: Context) -> tuple[int, Path]:
    """A CPU slot of the queue, waited for: the lock that holds it until the program is gone, and its file."""
    import fcntl
    import os
    import secrets

    from accel_tui.protocol.paths import SESSIONS_FOLDER

    folder = context.folder_in_force / SESSIONS_FOLDER
    path = folder / f"exec-{os.getpid()}-{secrets.token_hex(4)}.lock"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as fault:
        raise StateFolderError(f"{path}: {fault.strerror}") from None
    told: str | None = None
    try:
        while True:
            try:
                context.client.take_slot(path.name)
            except NotPossibleError as wait:
                if wait.message != told:
                    context.output.note(context.output.glyph("queued"), f" waits for {wait.message}; Ctrl+C gives up")
                    told = wait.message
                time.sleep(RETRY_SECONDS)
            else:
                return descriptor, path
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _give_slot_back(context: Context, descriptor: int, path: Path) -> None:
    """Close our side; say when a program left in the background keeps the slot."""
    import os

    from accel_tui.keeper.locks import held

    os.close(descriptor)
    if held(str(path)):
        note = " the CPU slot stays taken: a program that was started in there still runs"
        context.output.note(context.output.glyph("warning"), note)
    else:
        path.unlink(missing_ok=True)


def _open_elsewhere(plan: Plan, devices: Inventory) -> str | None:
    """A card of the plan that a program without a lock has open and that cannot be shared, with who."""
    from accel_tui.jobs.environment import taken
    from accel_tui.jobs.plan_checks import holder_words

    for view in devices.devices:
        if view.device.key in plan.devices and view.reserved_by is None and taken(view) is not None:
            return f"{view.device.key}, held by {holder_words(view)}"
    return None


def _refuse(context: Context, plan: Plan) -> None:
    refuse_absent(context.arguments.devices, plan)
    stopping = [
        check
        for check in plan.checks
        if check.level is CheckLevel.REFUSAL or (check.level is CheckLevel.ASK and not context.arguments.yes)
    ]
    if stopping:
        raise CheckRefusedError(
            "the program was not started", checks=stopping, remedy="--yes answers questions; a refusal stands"
        )


def _lock_folder(context: Context) -> str:
    from accel_tui.keeper.locks import LockFolderError, lock_folder

    configured = context.settings.lock_dir
    if context.demo is not None:  # invented devices are reserved beside their own supervisor
        configured = str(context.folder_in_force / "locks")
    try:
        return lock_folder(configured)
    except LockFolderError as fault:
        raise StateFolderError(str(fault), remedy="set ACCEL_TUI_LOCK_DIR to a safe folder") from None


def _claim() -> dict[str, str]:
    import os
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = str(os.geteuid())
    return {"run": "exec", "user": user, "since": time_text(time.time())}


def _give_back(context: Context, locks: dict[str, int]) -> None:
    """Close our descriptors; say when a program left in the background keeps a device."""
    import os

    from accel_tui.keeper.locks import held

    for descriptor in locks.values():
        os.close(descriptor)
    for path in locks:
        if held(path):
            name = path.rpartition("/")[2].removesuffix(".lock")
            context.output.note(
                context.output.glyph("warning"), " ", Styled(name, "strong"),
                " stays reserved: a program that was started in there still runs",
            )  # fmt: skip
