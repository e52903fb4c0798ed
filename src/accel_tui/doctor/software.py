"""Python, the product, and the torch stack that jobs would run on."""

from __future__ import annotations

import platform
import shlex
import sys
from typing import TYPE_CHECKING

from accel_tui.doctor.host import Host, passed, refusal, unknown, warning
from accel_tui.protocol.version import PROTOCOL, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.jobs.facts import Facts
    from accel_tui.model.plans import Check

_LOWEST = (3, 10)
_NEEDED = {"torch": "torch", "transformers": '"transformers>=4.51,<6"', "accelerate": '"accelerate>=1.5"'}
_SHOWN = ("torch", "transformers", "accelerate", "habana-torch-plugin", "optimum-habana")


def python(_host: Host) -> Iterator[Check]:
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] < _LOWEST:
        yield refusal("python", f"{found} is too old", "accel-tui needs Python 3.10 or newer")
    else:
        yield passed("python", found)


def product(_host: Host) -> Iterator[Check]:
    yield passed("accel-tui", f"accel-tui {VERSION}, protocol {PROTOCOL[0]}.{PROTOCOL[1]}")


def failure_tables(host: Host) -> Iterator[Check]:
    """The user's own tables of known failures."""
    from accel_tui.diagnosis.table import FOLDER, shipped, tables

    found = tables(host.settings.config_dir or None)
    for fault in found.faults:
        yield warning("failure-tables", f"a table of known failures is left out: {fault}", "see docs/failures.md")
    own = len(found.entries) - len(shipped())
    if not found.faults:
        more = f", {own} of them from {host.settings.config_dir}/{FOLDER}" if own > 0 else ""
        yield passed("failure-tables", f"{len(found.entries)} known failures{more}")


def torch_stack(host: Host) -> Iterator[Check]:
    """What the interpreter has that a job gets when it names none."""
    from accel_tui.jobs.facts import facts
    from accel_tui.jobs.interpreters import default_python, shared_with_others
    from accel_tui.jobs.spec import parse_job

    job = parse_job({"name": "doctor", "kind": "command", "command": {"argv": ["true"]}})
    interpreter = default_python(job, host.environment, host.settings)
    named = f"{interpreter.path} ({interpreter.reason})"
    shared = shared_with_others(interpreter.path)
    if shared is not None:
        message = f"{named} was not asked what it has installed: others may write {shared}"
        yield unknown("torch-stack", message, "name another interpreter: ACCEL_TUI_PYTHON")
        return
    answer = facts(interpreter.path, host.environment)
    if answer.fault is not None:
        yield warning("torch-stack", f"{named} does not work: {answer.fault}", "name another: ACCEL_TUI_PYTHON")
        return
    yield _stack(interpreter.path, named, answer)


def _stack(path: str, named: str, answer: Facts) -> Check:
    versions = ", ".join(f"{name} {answer.version(name)}" for name in _SHOWN if answer.version(name))
    missing = [name for name in _NEEDED if answer.version(name) is None]
    if not missing:
        return passed("torch-stack", f"{named}: Python {answer.python}, {versions}{_vendor(answer)}")
    has = f"; it has {versions}{_vendor(answer)}" if versions else ""
    remedy = f"{shlex.quote(path)} -m pip install {' '.join(_NEEDED[name] for name in missing)}"
    if "torch" in missing:
        remedy += " (for Gaudi take Intel's installer or image first, for XPU the wheel index of PyTorch's XPU guide)"
    message = f"{named} lacks {', '.join(missing)}, which generate and train jobs need{has}"
    return warning("torch-stack", message, remedy)


def _vendor(answer: Facts) -> str:
    """A remark where torch is a vendor's build, which must not be replaced by one from the general index."""
    torch = answer.version("torch") or ""
    if answer.version("habana-torch-plugin"):
        return " (torch for Gaudi; keep it)"
    return " (torch for XPU; keep it)" if "+xpu" in torch else ""
