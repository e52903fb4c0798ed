"""Real probe processes of stand-in sources: whatever a source does, the parent gets an answer or a reason in time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.probes import Probe, ProbeError
from accel_tui.devices.registry import SourceEntry
from accel_tui.model.devices import ReadingStatus
from accel_tui.model.places import Places
from support.sources import STANDINS, standin
from support.waiting import wait_for

SHORT = Deadlines(start=30, inventory=30, read=1.5, holders=30)
KEY = "pci:0000:01:00.0"


def with_probe(
    entry: SourceEntry,
    body: Callable[[Probe], Coroutine[Any, Any, None]],
    *,
    deadlines: Deadlines = SHORT,
    **environment: str,
) -> None:
    async def run() -> None:
        probe = Probe(entry, Places(), deadlines=deadlines, environment={**os.environ, **environment})
        try:
            await body(probe)
        finally:
            await probe.close()

    asyncio.run(run())


async def refused(question: Awaitable[Any]) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        await question
    return caught.value


async def once_more(probe: Probe) -> float:
    """Ask again without the back-off, and give the utilization."""
    probe.retry_now()
    value = (await probe.ask("read")).readings[KEY]["utilization_percent"].value
    assert isinstance(value, float)
    return value


def test_a_source_answers_all_questions() -> None:
    async def body(probe: Probe) -> None:
        assert [device.key for device in (await probe.ask("inventory")).devices] == [KEY]
        assert (await probe.ask("read")).readings[KEY]["utilization_percent"].value == 1.0
        assert (await probe.ask("holders")).holders[KEY][0].pid == probe.pid

    with_probe(standin("well"), body, deadlines=Deadlines())


def test_what_a_library_prints_does_not_reach_the_pipe() -> None:
    async def body(probe: Probe) -> None:
        assert (await probe.ask("read")).readings[KEY]["utilization_percent"].value == 1.0
        assert (await probe.ask("read")).readings[KEY]["utilization_percent"].value == 2.0

    with_probe(standin("chatty"), body, deadlines=Deadlines(read=20))


def test_an_exception_costs_one_answer_and_not_the_process() -> None:
    async def body(probe: Probe) -> None:
        await probe.ask("inventory")
        pid = probe.pid
        error = await refused(probe.ask("read"))
        assert (error.code, probe.pid) == ("raised", pid)
        assert "RuntimeError: the library answered 0x70010000" in error.message
        assert probe.retry_in == 0

    with_probe(standin("raising"), body)


def test_a_hang_is_ended_at_the_deadline_and_the_process_replaced(tmp_path: Path) -> None:
    async def body(probe: Probe) -> None:
        await probe.ask("inventory")
        pid = probe.pid
        assert (await refused(probe.ask("read"))).code == "hung"
        assert probe.retry_in > 0
        assert (await refused(probe.ask("read"))).code == "hung", "refused at once while it backs off"
        assert await once_more(probe) == 1.0
        assert probe.pid not in (pid, None)
        assert probe.failure is None

    with_probe(standin("hanging"), body, STANDIN_ONCE=str(tmp_path / "happened"))


@pytest.mark.parametrize(
    ("attribute", "code", "words"),
    [
        ("exiting", "crashed", "exit code 7"),
        ("aborting", "crashed", "driver: assertion failed"),
        ("flooding", "garbage", "without an end"),
        ("nonsense", "garbage", "cannot be read"),
        ("half", "crashed", "exit code 3"),
    ],
)
def test_a_process_that_misbehaves_is_replaced(attribute: str, code: str, words: str, tmp_path: Path) -> None:
    async def body(probe: Probe) -> None:
        await probe.ask("inventory")
        error = await refused(probe.ask("read"))
        assert error.code == code
        assert words in error.message
        assert await once_more(probe) == 1.0

    with_probe(standin(attribute), body, deadlines=Deadlines(read=20), STANDIN_ONCE=str(tmp_path / "happened"))


def test_a_hang_at_import_is_ended() -> None:
    async def body(probe: Probe) -> None:
        error = await refused(probe.ask("inventory"))
        assert error.code == "hung"
        assert "starting" in error.message

    entry = SourceEntry("test", "importing", "standin_hangs_at_import", path=str(STANDINS))
    with_probe(entry, body, deadlines=Deadlines(start=0.5))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (standin("refusing"), "OSError: libze_loader.so.1"),
        (standin("no_such_function"), "AttributeError"),
        (SourceEntry("test", "gone", "no_such_module_at_all"), "ModuleNotFoundError"),
    ],
)
def test_a_source_that_cannot_be_opened_says_why(entry: SourceEntry, words: str) -> None:
    async def body(probe: Probe) -> None:
        error = await refused(probe.ask("inventory"))
        assert error.code == "broken"
        assert words in error.message

    with_probe(entry, body)


def test_values_that_are_no_numbers_become_failed() -> None:
    async def body(probe: Probe) -> None:
        readings = (await probe.ask("read")).readings[KEY]
        assert {name: reading.status for name, reading in readings.items()} == {
            "utilization_percent": ReadingStatus.FAILED,
            "power_watts": ReadingStatus.FAILED,
            "clock_mhz": ReadingStatus.OK,
        }

    with_probe(standin("odd"), body, deadlines=Deadlines())


def test_no_second_process_while_the_first_is_still_in_the_kernel(tmp_path: Path) -> None:
    release, traced = tmp_path / "release", tmp_path / "traced"

    async def body(probe: Probe) -> None:
        await probe.ask("inventory")
        pid = probe.pid
        try:
            error = await refused(probe.ask("read"))
            if traced.read_text() != "traced\n":
                pytest.skip("this host does not let processes trace one another")
            assert error.code == "stuck"
            for _ in range(3):
                probe.retry_now()
                again = await refused(probe.ask("inventory"))
                assert again.code == "stuck"
                assert str(pid) in again.message
                assert probe.pid is None
        finally:
            release.touch()
        while probe.failure is not None:  # the test's own time limit bounds this
            probe.retry_now()
            try:
                await probe.ask("inventory")
            except ProbeError:
                await asyncio.sleep(0.02)
        assert probe.pid not in (pid, None)

    with_probe(
        standin("unkillable"),
        body,
        deadlines=Deadlines(start=30, inventory=30, read=4),
        STANDIN_RELEASE=str(release),
        STANDIN_TRACED=str(traced),
        STANDIN_ONCE=str(tmp_path / "happened"),
    )


def test_a_process_killed_from_outside_is_noticed_and_replaced() -> None:
    async def body(probe: Probe) -> None:
        await probe.ask("inventory")
        assert probe.pid is not None
        os.kill(probe.pid, signal.SIGKILL)
        error = await refused(probe.ask("read"))
        assert error.code == "crashed"
        assert "signal 9" in error.message
        assert await once_more(probe) == 1.0

    with_probe(standin("well"), body, deadlines=Deadlines())


def test_pauses_grow_with_failures_in_a_row() -> None:
    async def body(probe: Probe) -> None:
        pauses = []
        for _ in range(4):
            probe.retry_now()
            await refused(probe.ask("inventory"))
            pauses.append(round(probe.retry_in))
        assert pauses == sorted(pauses)
        assert pauses[-1] > pauses[0]

    with_probe(SourceEntry("test", "gone", "no_such_module_at_all"), body)


def test_a_hung_probe_dies_with_its_parent(tmp_path: Path) -> None:
    """Nobody reads the pipe while a driver call hangs: the kernel ends it."""
    code = (
        "import asyncio, os, sys\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "from accel_tui.devices.deadlines import Deadlines\n"
        "from accel_tui.devices.probes import Probe\n"
        "from accel_tui.model.places import Places\n"
        "from support.sources import standin\n"
        "async def main():\n"
        "    probe = Probe(standin('hanging'), Places(), deadlines=Deadlines(read=3600))\n"
        "    await probe.ask('inventory')\n"
        "    print(probe.pid, flush=True)\n"
        "    await probe.ask('read')\n"
        "asyncio.run(main())\n"
    )
    marker = tmp_path / "happened"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "STANDIN_ONCE": str(marker)},
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        wait_for(marker.exists, what="the hang")
        parent.kill()
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), what="the end of the probe")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
