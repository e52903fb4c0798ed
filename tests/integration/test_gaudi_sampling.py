"""Gaudi cards over real probe processes: which layer answers, what a fault of one costs, what a person is told."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from accel_tui.devices import registry
from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.sampler import Sampler
from accel_tui.model.devices import DeviceState, DeviceView, Inventory, ReadingStatus
from accel_tui.model.places import Places
from support.gaudi import EIGHT, KEYS, GaudiHost, build_library, cells, csv
from support.trees import write_tree

CORE = ("utilization_percent", "memory_used_bytes", "power_watts", "temperature_celsius")


@pytest.fixture
def host(tmp_path: Path) -> GaudiHost:
    return GaudiHost(tmp_path / "host")


def sampled(
    host: GaudiHost, places: Places, body: Callable[[Sampler], Coroutine[Any, Any, None]], **named: Any
) -> None:
    """Run `body` beside the sampling of the Gaudi sources alone, as settings choose them."""
    entries = [entry for entry in registry.sources(places)[0] if entry.vendor == "gaudi"]

    async def run() -> None:
        environment = {**os.environ, "PATH": "/nonexistent", **host.variables()}
        sampler = Sampler(places, entries=named.pop("entries", entries), environment=environment, **named)
        await sampler.start()
        try:
            await body(sampler)
        finally:
            await sampler.stop()
        assert set(sampler.probe_pids.values()) == {None}, "no probe process is left"

    asyncio.run(run())


async def until(sampler: Sampler, condition: Callable[[Inventory], bool]) -> Inventory:
    """Wait for an inventory of which `condition` holds; the test's time limit bounds it."""
    subscription = sampler.subscribe()
    try:
        while True:
            inventory = sampler.snapshot()
            if condition(inventory):
                return inventory
            sampler.retry()
            await asyncio.wait([asyncio.ensure_future(subscription.wait())], timeout=0.1)
    finally:
        subscription.close()


def view(inventory: Inventory, key: str = KEYS[0]) -> DeviceView:
    return next(view for view in inventory.devices if view.device.key == key)


def status(inventory: Inventory, name: str = "power_watts", key: str = KEYS[0]) -> ReadingStatus | None:
    found = next((one for one in inventory.devices if one.device.key == key), None)
    return None if found is None or name not in found.readings else found.readings[name].status


def codes(inventory: Inventory) -> set[str]:
    return {problem.code for problem in inventory.problems}


def test_a_tool_that_hangs_costs_readings_and_nothing_else(host: GaudiHost) -> None:
    """The order of events: inventory while it hangs, pending, a number, stale, a number again; never two of it."""
    places = host.places(hl_smi=str(host.install_tool(mode="hang")))

    async def body(sampler: Sampler) -> None:
        first = await until(sampler, lambda i: len(i.devices) == 8 and bool(host.calls()))
        assert status(first) is ReadingStatus.PENDING
        assert len(host.calls()) == 1, "the inventory came while the tool hung"
        assert len(_alive(host)) == 1
        await until(sampler, lambda i: status(i) is ReadingStatus.FAILED)
        host.behave()
        well = await until(sampler, lambda i: status(i) is ReadingStatus.OK)
        assert view(well).readings["power_watts"].source == "hl-smi"
        host.behave(mode="hang")
        stale = await until(sampler, lambda i: status(i) is ReadingStatus.STALE)
        reading = view(stale).readings["power_watts"]
        assert reading.value is None
        assert reading.age_seconds is not None
        assert len(_alive(host)) <= 1, "one at most"
        assert {one.device.state for one in stale.devices} == {DeviceState.OPERATIONAL}
        host.behave()
        await until(sampler, lambda i: status(i) is ReadingStatus.OK)

    sampled(host, places, body, deadlines=Deadlines(inventory=1.0, read=1.0))
    assert _alive(host) == []


def _alive(host: GaudiHost) -> list[int]:
    pids = {call["pid"] for call in host.calls()}
    return [pid for pid in pids if (Path("/proc") / str(pid) / "cmdline").exists() and _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def test_hlml_answers_and_the_tool_is_left_alone(host: GaudiHost, hlml_library: Path) -> None:
    host.library_does("chatty")
    for slot in EIGHT:
        host.sensors(slot)
    places = host.places(hl_smi=str(host.install_tool()), hlml_library=str(hlml_library))

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert {view(inventory, key).readings[name].source for key in KEYS for name in CORE} == {"hlml"}
        assert codes(inventory) == set()
        asked = len(host.calls())
        with sampler.watching():
            begun = view(sampler.snapshot()).readings["power_watts"].age_seconds or 0.0
            await until(sampler, lambda i: (view(i).readings["power_watts"].age_seconds or 0.0) < begun)
        assert len(host.calls()) == asked, "never two that ask the firmware side by side"
        assert sampler.probe_pids["gaudi.hwmon"] is None, "the sensors are not even started"

    sampled(host, places, body)


def test_the_tool_steps_in_where_a_call_of_hlml_hangs(host: GaudiHost, hlml_library: Path) -> None:
    host.library_does("hang-hlml_device_get_power_usage")
    places = host.places(hl_smi=str(host.install_tool()), hlml_library=str(hlml_library))

    async def body(sampler: Sampler) -> None:
        inventory = await until(sampler, lambda i: status(i) is ReadingStatus.OK and "source-hung" in codes(i))
        assert {view(inventory, key).readings[name].source for key in KEYS for name in CORE} == {"hl-smi"}

    sampled(host, places, body, deadlines=Deadlines(read=1.5))


@pytest.mark.parametrize(
    ("does", "content", "words"),
    [
        ("driver", "1.18.0-524", "older than HLML's present structures"),
        ("shift-modules", "", "it says module"),
        ("code-hlml_init", "9", "driver not loaded"),
        ("count", "0", "HLML sees no card"),
    ],
)
def test_a_library_that_is_not_trusted_does_not_answer(
    host: GaudiHost, hlml_library: Path, does: str, content: str, words: str
) -> None:
    host.library_does(does, content)
    places = host.places(hl_smi=str(host.install_tool()), hlml_library=str(hlml_library))

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert {view(inventory, key).readings["power_watts"].source for key in KEYS} == {"hl-smi"}
        assert any(words in problem.message for problem in inventory.problems), inventory.problems

    sampled(host, places, body)


def test_a_library_of_the_old_layout_is_recognised(host: GaudiHost, tmp_path: Path) -> None:
    places = host.places(hlml_library=str(build_library(tmp_path, "-DOLD_ABI")), gaudi_source="hlml")

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert len(inventory.devices) == 8
        assert status(inventory) is ReadingStatus.FAILED
        assert "source-untrusted" in codes(inventory)

    sampled(host, places, body)


def test_what_a_library_lacks_comes_from_the_tool(host: GaudiHost, tmp_path: Path) -> None:
    host.library_does("code-hlml_device_get_temperature", "3")
    library = build_library(tmp_path, "-DWITHOUT_POWER")
    places = host.places(hl_smi=str(host.install_tool()), hlml_library=str(library))

    async def body(sampler: Sampler) -> None:
        readings = view(await sampler.inventory(wait=30), KEYS[2]).readings
        assert (readings["power_watts"].value, readings["power_watts"].source) == (202.0, "hl-smi")
        assert (readings["temperature_celsius"].value, readings["temperature_celsius"].source) == (32.0, "hl-smi")
        assert readings["utilization_percent"].source == "hlml"

    sampled(host, places, body)


def test_what_nobody_has_says_why(host: GaudiHost, tmp_path: Path) -> None:
    host.library_does("code-hlml_device_get_temperature", "3")
    host.library_does("code-hlml_device_get_utilization_rates", "21")
    places = host.places(hlml_library=str(build_library(tmp_path, "-DWITHOUT_POWER")))

    async def body(sampler: Sampler) -> None:
        readings = view(await sampler.inventory(wait=30)).readings
        assert readings["power_watts"].reason == "this libhlml has no hlml_device_get_power_usage"
        assert readings["temperature_celsius"].status is ReadingStatus.ABSENT
        assert readings["utilization_percent"].reason == "HLML: no data (code 21)"

    sampled(host, places, body)


def test_the_old_binding_is_not_touched(host: GaudiHost, hlml_library: Path, tmp_path: Path) -> None:
    site = write_tree(tmp_path / "site", {"pyhlml-1.9.0.dist-info/METADATA": "Name: pyhlml\nVersion: 1.9.0.580.1\n"})
    places = host.places(hlml_library=str(hlml_library))
    from dataclasses import replace

    entries = [replace(entry, path=str(site)) for entry in registry.sources(places)[0] if entry.vendor == "gaudi"]

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        told = next(problem for problem in inventory.problems if problem.code == "source-binding")
        assert "pyhlml 1.9.0.580.1" in told.message
        assert told.remedy is not None
        assert "pip uninstall pyhlml" in told.remedy

    sampled(host, places, body, entries=entries)


def test_a_card_that_the_library_lost_is_lost(host: GaudiHost, hlml_library: Path) -> None:
    places = host.places(hlml_library=str(hlml_library))
    lost = EIGHT[3]

    async def body(sampler: Sampler) -> None:
        await sampler.inventory(wait=30)
        host.library_does(f"lost-{lost.index}")
        inventory = await until(sampler, lambda i: view(i, lost.key).device.state is DeviceState.LOST)
        assert len(inventory.devices) == 8
        reading = view(inventory, lost.key).readings["power_watts"]
        assert reading.status is ReadingStatus.FAILED
        assert view(inventory, KEYS[4]).device.state is DeviceState.OPERATIONAL

    sampled(host, places, body)


def test_a_card_that_falls_off_stays_listed(host: GaudiHost) -> None:
    places = host.places(hl_smi=str(host.install_tool()))
    gone = EIGHT[5]

    async def body(sampler: Sampler) -> None:
        await sampler.inventory(wait=30)
        host.remove(gone)
        host.behave(cards=[cells(slot) for slot in EIGHT if slot != gone])
        inventory = await until(sampler, lambda i: view(i, gone.key).device.state is DeviceState.LOST)
        assert [one.device.module_id for one in inventory.devices] == list(range(8))
        assert view(inventory, gone.key).readings["power_watts"].status is ReadingStatus.FAILED
        assert "device-lost" in codes(inventory)

    sampled(host, places, body)


@pytest.mark.parametrize("tool", [False, True])
def test_states_are_the_drivers_words(host: GaudiHost, *, tool: bool) -> None:
    """A tool that goes on answering says nothing against them."""
    words = {
        "In reset": "resetting",
        "In reset after device release": "releasing",
        "Disabled": "disabled",
        "Malfunction": "disabled",
        "Needs reset": "needs-reset",
        "In device creation": "resetting",
        "Something new": "unknown",
    }
    for slot, text in zip(EIGHT, words, strict=False):
        host.attribute(slot, "status", f"{text}\n")
    (host.dev / f"accel/accel{EIGHT[7].index}").unlink()
    host.bare("0000:ee:00.0")

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert [one.device.state.value for one in inventory.devices] == [*words.values(), "no-node", "not-driven"]
        assert {"not-driven", "no-tool"} & codes(inventory) == {"not-driven"}
        host.attribute(EIGHT[1], "status", "Operational\n")
        await until(sampler, lambda i: view(i, KEYS[1]).device.state is DeviceState.OPERATIONAL)

    sampled(host, host.places(hl_smi=str(host.install_tool()) if tool else None), body)


@pytest.mark.parametrize("library", [False, True])
def test_what_nobody_asks_is_not_waited_for(host: GaudiHost, hlml_library: Path, *, library: bool) -> None:
    """A card that a run gave back is free once every source in use has answered; sensors and spare tool are not."""
    for slot in EIGHT:
        host.sensors(slot)
    named = {"hlml_library": str(hlml_library)} if library else {}
    places = host.places(hl_smi=str(host.install_tool()), **named)

    async def body(sampler: Sampler) -> None:
        await sampler.inventory(wait=30)
        with sampler.watching():
            begun = len(host.calls())  # before the moment: a call that begins between the two counts as a new one
            moment = time.monotonic()
            assert not sampler.sampled_since(moment)
            await until(
                sampler, lambda i: (view(i).readings["power_watts"].age_seconds or 0) < time.monotonic() - moment
            )
            await sampler.look_again(30)
            await until(sampler, lambda _: sampler.sampled_since(moment))
            if library:
                assert len(host.calls()) == begun
            else:  # it is waited for unless the host is so busy that it counts as slow; it is asked in any case
                await until(sampler, lambda _: len(host.calls()) > begun)

    sampled(host, places, body)


def test_a_card_that_one_layer_alone_sees_is_listed(host: GaudiHost) -> None:
    host.remove(EIGHT[6])
    places = host.places(hl_smi=str(host.install_tool()))

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert [one.device.key for one in inventory.devices] == list(KEYS)
        told = next(problem for problem in inventory.problems if problem.code == "layer-silent")
        assert "gaudi.sysfs" in told.message
        assert KEYS[6] in told.message

    sampled(host, places, body)


def test_a_card_that_the_tool_leaves_out_says_so(host: GaudiHost) -> None:
    places = host.places(hl_smi=str(host.install_tool(cards=[cells(slot) for slot in EIGHT[1:]])))

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert view(inventory).readings["power_watts"].reason == "gaudi.hl-smi does not list this card"
        assert status(inventory, key=KEYS[1]) is ReadingStatus.OK

    sampled(host, places, body)


def test_an_answer_without_any_value_is_denied_and_sensors_step_in(host: GaudiHost) -> None:
    nothing = dict.fromkeys(("memory.used", "temperature.aip", "utilization.aip", "power.draw"), "N/A")
    host.sensors(EIGHT[0])
    places = host.places(hl_smi=str(host.install_tool(cards=[cells(slot, **nothing) for slot in EIGHT])))

    async def body(sampler: Sampler) -> None:
        denied = ReadingStatus.DENIED
        inventory = await until(
            sampler, lambda i: status(i) is ReadingStatus.OK and status(i, "utilization_percent") is denied
        )
        readings = view(inventory).readings
        assert (readings["power_watts"].value, readings["power_watts"].source) == (221.0, "sysfs")
        assert "root" in (readings["utilization_percent"].reason or "")
        assert view(inventory, KEYS[1]).readings["power_watts"].status is ReadingStatus.DENIED
        told = next(problem for problem in inventory.problems if problem.code == "denied")
        assert told.remedy

    sampled(host, places, body)


@pytest.mark.parametrize(
    ("behaviour", "words", "code"),
    [
        ({"mode": "fail", "err": "Error: no AIPs available\n"}, "no AIPs available", "source-no-device"),
        ({"mode": "fail", "code": 0, "out": "habanalabs driver is not loaded.\n"}, "is not loaded", "source-no-driver"),
        ({"mode": "fail", "code": 0}, "gave no table, it says: nothing", "source-refused"),
        ({"mode": "fail", "code": 3, "err": "\x1b[31mboom\n"}, "boom", "source-refused"),
    ],
)
def test_a_tool_that_fails_is_quoted(host: GaudiHost, behaviour: dict[str, Any], words: str, code: str) -> None:
    places = host.places(hl_smi=str(host.install_tool(**behaviour)))

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        told = next(problem for problem in inventory.problems if problem.code == code)
        assert words in told.message
        assert told.remedy
        assert status(inventory) is ReadingStatus.FAILED
        assert len(inventory.devices) == 8

    sampled(host, places, body)


def test_optional_fields_are_asked_as_far_as_the_build_knows_them(host: GaudiHost) -> None:
    known = ["bus_id", "power.max", "ecc.errors.corrected.aggregate.total", "pcie.link.gen.current",
             "pcie.link.width.current", *cells(EIGHT[0])]  # fmt: skip
    extra = {"power.max": "850", "ecc.errors.corrected.aggregate.total": "3", "pcie.link.gen.current": "Gen4",
             "pcie.link.width.current": "x16"}  # fmt: skip
    rows = [cells(slot, **extra) for slot in EIGHT]
    links = {EIGHT[0].address: "port  0:        UP\nport  1:        UP\nport  8:        DOWN\nport 10:        DOWN\n"}
    ports = "port 0: internal\nport 1: internal\nport 8: external\nport 10: internal\n"
    report = f"[0] AIP (accel2) {EIGHT[0].address}\n   Replaced Rows\n     Single Bit ECC : 2\n     Pending : Yes\n"
    places = host.places(hl_smi=str(host.install_tool(cards=rows, fields=known, links=links, ports=ports, rows=report)))

    async def body(sampler: Sampler) -> None:
        inventory = await until(
            sampler, lambda i: status(i, "links_up") is ReadingStatus.OK and status(i, "power_limit_watts") is not None
        )
        readings = view(inventory).readings
        assert (readings["links_up"].value, readings["links_expected"].value) == (2, 3)
        assert readings["power_limit_watts"].value == 850.0
        assert readings["ecc_corrected"].value == 3
        assert "ecc_uncorrected" not in readings, "this build has no such field"
        inventory = await until(sampler, lambda i: "links_down" in view(i).device.details)
        assert view(inventory).device.details["replaced_rows_single_bit"] == 2
        assert view(inventory).device.details["links_down"] == [10]

    sampled(host, places, body)


@pytest.mark.parametrize("chosen", ["sysfs", "hl-smi", "hlml"])
def test_settings_choose_who_answers(host: GaudiHost, hlml_library: Path, chosen: str) -> None:
    for slot in EIGHT:
        host.sensors(slot)
    places = host.places(hl_smi=str(host.install_tool()), hlml_library=str(hlml_library), gaudi_source=chosen)

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert {reading.source for one in inventory.devices for reading in one.readings.values()} == {chosen}
        assert {one.device.name for one in inventory.devices} == {"HL-325L"}

    sampled(host, places, body)


def test_who_holds_a_card_is_read_below_either_root(host: GaudiHost) -> None:
    host.hold(EIGHT[1], 4001, command="python a.py")
    host.hold(EIGHT[2], 4002, root=str(host.dev))
    control = host.proc / "4003/fd"
    control.mkdir(parents=True)
    (control / "4").symlink_to("/dev/accel/accel_controlD0")

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        held = {one.device.key: [holder.pid for holder in one.holders] for one in inventory.devices if one.holders}
        assert held == {KEYS[1]: [4001], KEYS[2]: [4002]}
        assert view(inventory, KEYS[1]).holders[0].command == "python a.py"
        host.release(4001)
        await until(sampler, lambda i: not view(i, KEYS[1]).holders)

    sampled(host, host.places(), body)


def test_indexes_that_moved_between_two_starts_are_told(host: GaudiHost, tmp_path: Path) -> None:
    remembered = tmp_path / "indexes.json"

    async def first(sampler: Sampler) -> None:
        assert "index-map-changed" not in codes(await sampler.inventory(wait=30))

    async def second(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        told = next(problem for problem in inventory.problems if problem.code == "index-map-changed")
        assert "module 0 (0000:19:00.0) was index 2 and is 0" in told.message
        assert "module 3" not in told.message

    sampled(host, host.places(), first, index_file=remembered)
    from dataclasses import replace

    shuffled = [replace(EIGHT[0], index=0), replace(EIGHT[1], index=2), *EIGHT[2:]]
    other = GaudiHost(tmp_path / "other", shuffled)
    sampled(other, other.places(), second, index_file=remembered)


def test_older_layouts_are_read(tmp_path: Path) -> None:
    host = GaudiHost(tmp_path / "host", ())
    for slot in EIGHT[:2]:
        entry = f"class/habanalabs/hl{slot.index}"
        files = {
            "pci_addr": slot.address,
            "module_id": str(slot.module),
            "device_type": "GAUDI",
            "status": "Operational",
        }
        write_tree(host.sysfs, {f"{entry}/{name}": f"{text}\n" for name, text in files.items()})
        write_tree(host.dev, {f"hl{slot.index}": "", f"hl_controlD{slot.index}": ""})
        write_tree(host.sysfs, {f"class/habanalabs/hl_controlD{slot.index}/x": ""})
    table = csv([cells(slot, name="HL-205") for slot in EIGHT[:2]], list(cells(EIGHT[0])))

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert [(one.device.key, one.device.index, one.device.module_id) for one in inventory.devices] == [
            (slot.key, slot.index, slot.module) for slot in EIGHT[:2]
        ]
        assert {one.device.state for one in inventory.devices} == {DeviceState.OPERATIONAL}
        assert view(inventory).device.name == "HL-205"

    sampled(host, host.places(hl_smi=str(host.install_tool(out=table))), body)


@pytest.mark.parametrize("layer", ["tool", "library"])
def test_what_settings_name_is_asked_without_any_sign_of_a_card(tmp_path: Path, hlml_library: Path, layer: str) -> None:
    host = GaudiHost(tmp_path / "host", ())
    tool, library = str(host.install_tool()), str(hlml_library)
    places = host.places(hl_smi=tool) if layer == "tool" else host.places(hlml_library=library)

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert [(one.device.key, one.device.module_id, one.device.index) for one in inventory.devices] == [
            (slot.key, slot.module, slot.index) for slot in EIGHT
        ]
        assert status(inventory) is ReadingStatus.OK
        told = next(problem for problem in inventory.problems if problem.code == "layer-silent")
        assert "gaudi.sysfs" in told.message

    sampled(host, places, body)


def test_the_tool_is_asked_no_more_often_than_it_can_answer(host: GaudiHost) -> None:
    delay = 0.6
    places = host.places(hl_smi=str(host.install_tool(delay=delay)))

    def begun() -> list[float]:
        return [call["at"] for call in host.calls() if "index" in " ".join(call["argv"])]

    async def body(sampler: Sampler) -> None:
        await sampler.inventory(wait=30)
        assert sampler.intervals["gaudi.sysfs"] == 10.0, "nobody looks and nothing runs"
        with sampler.watching():
            await until(sampler, lambda _: sampler.intervals["gaudi.sysfs"] == 1.0)
            first = len(begun())
            while len(begun()) < first + 2:
                await asyncio.sleep(0.05)
            assert max(2.0, 4 * delay) <= sampler.intervals["gaudi.hl-smi"] < 10.0
        times = begun()[first:]
        assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= 4 * delay - 0.1

    sampled(host, places, body)


def test_a_host_without_gaudi_costs_nothing_and_is_told_nothing(tmp_path: Path) -> None:
    host = GaudiHost(tmp_path / "host", ())
    (host.sysfs / "module/habanalabs/refcnt").unlink()
    (host.sysfs / "module/habanalabs").rmdir()
    write_tree(host.sysfs, {"class/accel/accel0/device/vendor": "0x8086\n"})  # another vendor's, in the same class
    write_tree(host.dev, {"accel/accel0": ""})

    async def body(sampler: Sampler) -> None:
        inventory = await sampler.inventory(wait=30)
        assert (inventory.devices, inventory.problems) == ((), ())
        assert set(sampler.probe_pids.values()) == {None}, "not even a process"

    sampled(host, host.places(), body)
