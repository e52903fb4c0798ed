"""Sharing cards between users and with what is not a run: waiting that others see, cards that are being given back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accel_tui.keeper import locks
from accel_tui.model.devices import DeviceState, DeviceView
from accel_tui.model.runs import RunState
from support.gaudi import EIGHT, GaudiHost
from support.schemas import check
from support.supervising import Site, site
from support.waiting import wait_for

CARD = EIGHT[0]

WAITER = """
import fcntl, os, sys
os.setuid(65534)
path = f"{sys.argv[1]}.{os.getuid()}.wait"
descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, b'{"run": "their-\\\\u001b[31mrun", "user": "root", "since": "1970"}')
print("waits", flush=True)
sys.stdin.read()
os.unlink(path)
"""
"""Another user's supervisor, as far as the lock folder shows it."""


def view_of(where: Site, key: str) -> DeviceView:
    return next(view for view in where.client.devices().devices if view.device.key == key)


def test_a_card_is_free_again_when_the_device_says_so(own_world: Path) -> None:
    """The driver resets the card after the last process let go of it, as a Gaudi driver does."""
    host = GaudiHost(own_world / "host", (CARD,))
    host.attribute(CARD, "status", "Operational\n")
    status = host.sysfs / f"bus/pci/devices/{CARD.address}/status"
    leave = f"echo In reset after device release >{status}"
    with site(own_world / "state", **host.variables()) as here:
        first = here.submit(["sh", "-c", leave], f"gaudi:{CARD.module}", yes=True)
        here.finished(first)
        second = here.submit(["true"], f"gaudi:{CARD.module}", yes=True)
        wait_for(lambda: "releasing" in str(here.client.run(second).waiting_for), what="the wait for the device")
        assert first in str(here.client.run(second).waiting_for)
        view = view_of(here, CARD.key)
        assert view.device.state is DeviceState.RELEASING
        assert view.reserved_by is not None
        assert view.reserved_by.run == first
        assert here.client.run(second).state is RunState.QUEUED
        status.write_text("Operational\n")
        assert here.finished(second).exit_code == 0
        wait_for(lambda: view_of(here, CARD.key).reserved_by is None, what="the free card")


def test_what_a_run_waits_for_is_told_in_the_lock_folder(own_world: Path) -> None:
    with site(own_world / "state", "gaudi3") as here:
        holder = here.submit(["sleep", "600"], "gaudi:0", yes=True)
        here.reach(holder, RunState.RUNNING)
        gang = here.submit(["true"], "gaudi:0,1", yes=True)
        folder = here.state / "locks"
        told = wait_for(lambda: sorted(folder.glob(f"*.{os.geteuid()}.wait")), what="the claims")
        assert len(told) == 2, "the free card of the gang, too: else a stream of small runs would starve it"
        assert gang in told[0].read_text()
        began = [path.stat().st_ctime_ns for path in told]
        here.kill()  # a supervisor that dies loses no place in the queue
        here.client.connect()
        wait_for(lambda: here.client.run(gang).waiting_for, what="the queue of the next supervisor")
        wait_for(lambda: locks.held(str(told[0])), what="the claims of the next supervisor")
        assert [path.stat().st_ctime_ns for path in told] == began
        here.kill()
        left = folder / f"left.{os.geteuid()}.wait"
        left.touch()  # as of a run that was stopped meanwhile
        here.client.connect()
        wait_for(lambda: not left.exists(), what="the end of what a killed supervisor left")
        assert all(path.exists() for path in told)
        here.client.stop(gang)
        wait_for(lambda: not list(folder.glob("*.wait")), what="the end of the claims")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_card_that_another_user_waits_for_longer_is_left_to_them(own_world: Path) -> None:
    with site(own_world / "state", "gaudi3", ACCEL_TUI_YIELD_MINUTES="0") as here:
        here.client.connect()
        key = next(view.device.key for view in here.client.devices().devices if view.device.module_id == 3)
        folder = Path(locks.lock_folder(str(here.state / "locks")))
        modes = {place: place.stat().st_mode for place in (folder, *folder.parents)}
        for place, mode in modes.items():
            place.chmod(mode & 0o7777 | 0o011)
        stem = locks.lock_path(str(folder), key).removesuffix(".lock")
        waiter = subprocess.Popen(
            [sys.executable, "-I", "-c", WAITER, stem], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert waiter.stdout is not None
        assert waiter.stdin is not None
        try:
            assert waiter.stdout.readline() == "waits\n"
            wait_for(lambda: view_of(here, key).awaited_by, what="the other's claim")
            claim = view_of(here, key).awaited_by[0]
            check("devices", here.client.devices().to_json())
            assert claim.user != "root", "the kernel says whose file it is, not the file"
            assert "\x1b" not in str(claim.run)
            polite = here.submit(["true"], "gaudi:3", yes=True)
            waits = here.when(polite, lambda run: run.waiting_for).waiting_for
            assert re.search(r"left to \S+, who waits for it since 2\d{3}-", str(waits)), waits
            choosing = here.submit(["true"], "auto:gaudi:1", yes=True)
            assert here.finished(choosing).devices != (key,)
            insisting = here.submit(["true"], "gaudi:3", yes=True, overrides=("others-wait",))
            here.client.move(insisting)
            assert here.finished(insisting).devices == (key,)
            assert here.client.run(polite).state is RunState.QUEUED
        finally:
            waiter.stdin.close()
            waiter.wait()
            waiter.stdout.close()
            for place, mode in modes.items():
                place.chmod(mode & 0o7777)
        here.finished(polite)
