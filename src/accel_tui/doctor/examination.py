"""Runs all examiners side by side, each within its time, and keeps what went wrong in one from the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.doctor import cards, folders, intel_gpus, process, software, supervisor, terminal
from accel_tui.doctor.host import Host, unknown
from accel_tui.model.plans import Check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.config.settings import Settings

SECONDS = 6.0


@dataclass(frozen=True)
class Examiner:
    """One subject: `look` answers with its findings, and may take `seconds`."""

    id: str
    """The id of the finding that stands in when it fails or takes too long."""
    look: Callable[[Host], Iterable[Check]]
    seconds: float = SECONDS


EXAMINERS: tuple[Examiner, ...] = (
    Examiner("python", software.python),
    Examiner("accel-tui", software.product),
    Examiner("failure-tables", software.failure_tables),
    Examiner("torch-stack", software.torch_stack, seconds=25.0),
    Examiner("devices", cards.survey_devices),
    Examiner("named-places", cards.named_places),
    Examiner("gaudi", cards.gaudi),
    Examiner("xpu", cards.xpu),
    Examiner("xpu-rights", intel_gpus.rights),
    Examiner("xpu-smi", intel_gpus.cross_check, seconds=15.0),
    Examiner("state-folder", folders.state_folder),
    Examiner("lock-folder", folders.lock_folder),
    Examiner("run-records", folders.run_records),
    Examiner("free-space", folders.free_space),
    Examiner("supervisor", supervisor.reachable),
    Examiner("logout", process.logout),
    Examiner("allocation", process.allocation),
    Examiner("descriptors", process.descriptors),
    Examiner("clock", process.clock),
    Examiner("terminal", terminal.look),
)


def examine(
    settings: Settings,
    environment: Mapping[str, str],
    state: Path,
    demo: str | None = None,
    *,
    examiners: Sequence[Examiner] = EXAMINERS,
) -> tuple[Check, ...]:
    """All findings about this host, in a fixed order. Changes nothing; executes the default interpreter of jobs.

    Args:
        state: The state folder, not that of the demonstration; it need not exist.

    Raises:
        UsageError: `demo` names no simulated server.
    """
    if demo is not None:
        from accel_tui.vendors.demo import check_demo

        check_demo(demo)
    host = Host(settings, environment, Path(state), demo)
    looks = [_Look(examiner, host) for examiner in examiners]
    return tuple(check for look in looks for check in look.findings())


class _Look:
    """One examiner at work, on a thread of its own that nobody waits for once its time is over."""

    def __init__(self, examiner: Examiner, host: Host) -> None:
        self._examiner, self._host = examiner, host
        self._found: list[Check] | None = None
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"doctor {examiner.id}", daemon=True)
        self._thread.start()

    def findings(self) -> list[Check]:
        self._thread.join(max(0.0, self._begun + self._examiner.seconds - time.monotonic()))
        if self._found is None:
            message = f"this could not be examined within {self._examiner.seconds:g} s"
            return [replace(unknown(self._examiner.id, message), seconds=self._examiner.seconds)]
        return self._found

    def _run(self) -> None:
        try:
            found = list(self._examiner.look(self._host))
        except Exception as error:  # the border of one subject: the others must be told in any case
            found = [unknown(self._examiner.id, f"the examination failed: {type(error).__name__}: {error}"[:500])]
        seconds = time.monotonic() - self._begun
        self._found = [replace(check, seconds=check.seconds or seconds) for check in found]
