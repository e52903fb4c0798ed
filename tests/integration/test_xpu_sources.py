"""The sources of Intel GPUs in real probe processes: the real pyzes over a library built here, and trees of files."""

from __future__ import annotations

import asyncio
import ctypes
import time
from pathlib import Path
from typing import Any

import pytest

from accel_tui.devices.registry import BUILT_IN
from accel_tui.devices.sampler import Sampler
from accel_tui.model.devices import DeviceState, Reading, ReadingStatus, SourceFault
from support.probed import ProbedSource, probed
from support.xpu_host import (
    LOADER,
    LOST,
    NO_DEPENDENCY,
    NO_PERMISSION,
    UNINITIALIZED,
    UNSUPPORTED,
    XpuHost,
    at,
    build_library,
    without_rights,
    xe_client,
)

A, B, C, D = "0000:1a:00.0", "0000:4b:00.0", "0000:9a:00.0", "0001:03:00.0"
OK, PENDING, DENIED = ReadingStatus.OK, ReadingStatus.PENDING, ReadingStatus.DENIED


@pytest.fixture
def host(tmp_path: Path, sysman_library: Path) -> XpuHost:
    host = XpuHost(tmp_path, sysman_library)
    for address in (A, B):
        host.card(address)
    return host


@pytest.fixture
def unprivileged() -> tuple[str, ...]:
    return without_rights()


def values(source: ProbedSource, address: str) -> dict[str, Reading]:
    return source.read()[f"pci:{address}"]


def sampled(host: XpuHost, cards: list[dict[str, Any]], **named: Any) -> dict[str, dict[str, Reading]]:
    """The second read of a fresh process, long enough after the first for power."""
    host.scenario(cards, **named.pop("start", {}))
    with probed("xpu.sysman", host.places, **named) as source:
        source.inventory()
        source.read()
        time.sleep(0.11)  # the shortest span of an energy counter; nothing is awaited
        return source.read()


def test_cards_are_known_by_address_whatever_the_order(host: XpuHost) -> None:
    host.scenario([at(B, size=1 << 34, used=1 << 30, serial="X7"), at(A, size=1 << 35, used=1 << 31)])
    with probed("xpu.sysman", host.places) as source:
        devices, problems = source.inventory()
        readings = source.read()
    assert [(device.pci_address, device.memory_total_bytes) for device in devices] == [(A, 1 << 35), (B, 1 << 34)]
    assert [device.uuid for device in devices] == [
        "868011e2-0000-0000-1a00-000000000000",
        "868011e2-0000-0000-4b00-000000000000",
    ]
    assert [device.serial for device in devices] == [None, "X7"]
    assert readings[f"pci:{A}"]["memory_used_bytes"].value == 1 << 31
    assert problems == ()


def test_units_and_sources_of_all_readings(host: XpuHost) -> None:
    card = at(A, ticks=19.2, fan=1300, throttle=0b1001, corrected=3, uncorrected=1, ports=6, ports_up=5)
    found = sampled(host, [card, at(B, groups=0, card_meter=0, max_traffic=0)])
    got = {name: reading.value for name, reading in found[f"pci:{A}"].items() if reading.status is OK}
    assert got["utilization_percent"] == pytest.approx(61, abs=0.2)
    assert got["power_watts"] == pytest.approx(148, abs=1)
    assert got["memory_bandwidth_percent"] == pytest.approx(25, abs=0.5)
    assert got["pcie_rx_bytes_per_second"] == pytest.approx(1e9, rel=0.01)
    exact = {
        "power_limit_watts": 200.0, "temperature_celsius": 67.0, "temperature_memory_celsius": 72.0,
        "clock_mhz": 2150.0,
        "throttle_reasons": "average power, thermal limit", "fan_rpm": 1300, "ecc_corrected": 3, "ecc_uncorrected": 1,
        "links_up": 5, "links_expected": 6, "pcie_gen": 4, "pcie_width": 16, "memory_used_bytes": 9663676416,
    }  # fmt: skip
    assert {name: got[name] for name in exact} == exact
    assert {reading.source for reading in found[f"pci:{A}"].values()} == {"sysman"}
    other = found[f"pci:{B}"]
    assert other["utilization_percent"].value == pytest.approx(61, abs=0.2)  # single engines
    assert other["power_watts"].value == pytest.approx(118.4, abs=1)  # the package, where the card is not metered
    assert other["memory_bandwidth_percent"].status is ReadingStatus.ABSENT
    assert other["memory_bandwidth_bytes_per_second"].value == pytest.approx(1e11, rel=0.01)


def test_the_first_sample_has_no_rate(host: XpuHost) -> None:
    host.scenario([at(A), at(B)])
    with probed("xpu.sysman", host.places) as source:
        source.inventory()
        first = values(source, A)
    for name in ("utilization_percent", "power_watts", "memory_bandwidth_percent", "pcie_tx_bytes_per_second"):
        assert first[name].status is PENDING, name
    assert first["temperature_celsius"].value == 67.0


def test_counters_that_wrap_or_change_their_unit_have_no_value(host: XpuHost) -> None:
    read: dict[str, Reading] = {}

    def show(active: int, stamp: int, energy: int, clock: int) -> Reading:
        host.scenario([at(A, active=active, stamp=stamp, energy=energy, energy_stamp=clock, render=0, groups=1)])
        read.update(values(source, A))
        return read["utilization_compute_percent"]

    host.scenario([at(A)])
    with probed("xpu.sysman", host.places) as source:
        source.inventory()
        show(1000, 10_000, 10_000_000, 1_000_000)
        assert show(1600, 11_000, 30_000_000, 1_200_000).value == 60.0
        assert read["power_watts"].value == 100.0
        assert show(50, 12_000, 5, 1_400_000).status is PENDING  # both wrapped
        assert "went back" in str(read["power_watts"].reason)
        assert show(300, 13_000, 10_000_005, 1_600_000).value == 25.0
        assert read["power_watts"].value == 50.0
        assert show(9_000_000, 14_000, 20_000_005, 1_800_000).status is PENDING  # ticks where microseconds were
        assert show(9_000_500, 15_000, 30_000_005, 2_000_000).value == 50.0


def test_two_drivers_tiles_and_an_integrated_gpu(tmp_path: Path, sysman_library: Path) -> None:
    host = XpuHost(tmp_path, sysman_library)
    cards = [
        at(B, id=0x0BD5, tiles=2, busy=0.5, busy1=0.3, size=1 << 36, used=1 << 30),
        at("0000:00:02.0", id=0x7D55, name="Intel(R)_Graphics_[0x7d55]", driver=1),  # and the driver forgot the flag
        at(A, driver=1),
        at(A, driver=0),  # listed by both drivers
        at(C, type=5, driver=1),  # an NPU
    ]
    host.scenario(cards, drivers=2)
    with probed("xpu.sysman", host.places) as source:
        devices, _ = source.inventory()
        source.read()
        readings = source.read()
    by_key = {device.key: device for device in devices}
    card = f"pci:{B}"
    assert list(by_key) == ["pci:0000:00:02.0", f"pci:{A}", card, f"{card}#0", f"{card}#1"]
    assert by_key["pci:0000:00:02.0"].details["integrated"] is True
    assert by_key[f"pci:{A}"].details["integrated"] is False
    assert (by_key[card].details["tiles"], by_key[f"pci:{A}"].details["tiles"]) == (2, 1)
    assert (by_key[f"{card}#1"].details["tile"], by_key[f"{card}#1"].details["card"]) == (1, card)
    assert by_key[f"{card}#1"].uuid == "8680d50b-0000-0000-4b00-000000000002"
    assert (by_key[card].memory_total_bytes, by_key[f"{card}#1"].memory_total_bytes) == (1 << 37, 1 << 36)
    shares = {key: readings[key]["utilization_percent"].value for key in (card, f"{card}#0", f"{card}#1")}
    assert shares == pytest.approx({card: 40.0, f"{card}#0": 50.0, f"{card}#1": 30.0}, abs=0.2)  # of a running clock
    assert readings[card]["memory_used_bytes"].value == 1 << 31


def test_names_that_say_nothing_come_from_the_id(host: XpuHost) -> None:
    host.scenario([at(A, name="Intel(R)_Graphics_[0xe211]", serial="unknown"), at(B, id=0x56A0, name="Arc\udce9")])
    with probed("xpu.sysman", host.places) as source:
        first, second = source.inventory()[0]
    assert (first.name, first.serial, first.pci_address) == ("Intel Arc Pro B60", None, A)
    assert second.name == "Arc�"


def test_denied_names_the_right_and_nothing_becomes_0(host: XpuHost) -> None:
    codes = {"engines_code": NO_PERMISSION, "stats_code": NO_DEPENDENCY, "traffic_code": NO_PERMISSION}
    found = sampled(host, [at(A, **codes, temp_code=NO_PERMISSION), at(B, engines_code=UNSUPPORTED)])
    denied, other = found[f"pci:{A}"], found[f"pci:{B}"]
    assert denied["utilization_percent"].status is DENIED
    assert "root" in str(denied["utilization_percent"].reason)
    assert "PMT" in str(denied["memory_bandwidth_percent"].reason)
    assert denied["temperature_celsius"].status is DENIED
    assert denied["power_watts"].status is OK
    assert other["utilization_percent"].status is ReadingStatus.ABSENT
    tiled = sampled(host, [at(A, id=0x0BD5, tiles=2, engines_code=NO_PERMISSION)])
    of_the_card = [named for key, named in tiled.items() if A in key]
    assert {named["utilization_percent"].status for named in of_the_card} == {DENIED}
    assert len(of_the_card) == 3


@pytest.mark.parametrize("flags", [0, 1], ids=["discrete", "integrated"])
def test_without_rights_an_empty_list_and_a_full_card_are_unknown(
    host: XpuHost, unprivileged: tuple[str, ...], flags: int
) -> None:
    card = at(
        A, engines=0, free=25669140480, temp=0, rx=0, tx=0, traffic=0, flags=flags, id=0x7D55 if flags else 0xE211
    )
    found = sampled(host, [card], prefix=unprivileged)[f"pci:{A}"]
    for name, right in (
        ("utilization_percent", "root"),
        ("memory_used_bytes", "CAP_PERFMON"),
        ("temperature_celsius", "PMT"),
        ("pcie_rx_bytes_per_second", "PMT"),
        ("memory_bandwidth_percent", "PMT"),
    ):
        assert found[name].status is DENIED, name
        assert right in str(found[name].reason)
    assert found["power_watts"].status is OK


def test_a_lost_card_costs_no_other_and_comes_back(host: XpuHost) -> None:
    host.scenario([at(A), at(B)])
    with probed("xpu.sysman", host.places) as source:
        source.inventory()
        source.read()
        host.scenario([at(A, code=LOST), at(B)])
        readings = source.read()
        assert "lost" in str(readings[f"pci:{A}"]["temperature_celsius"].reason)
        assert readings[f"pci:{A}"]["utilization_percent"].status is ReadingStatus.FAILED
        assert readings[f"pci:{B}"]["utilization_percent"].status is OK
        assert [device.state for device in source.inventory()[0]] == [DeviceState.LOST, DeviceState.OPERATIONAL]
        host.scenario([at(A), at(B)])
        assert [device.state for device in source.inventory()[0]] == [DeviceState.OPERATIONAL] * 2
        source.read()
        assert values(source, A)["utilization_percent"].status is OK


def test_a_card_that_is_lost_from_the_start_is_told_by_what_is_left_over(host: XpuHost) -> None:
    host.scenario([at(B), at(A, code=LOST)])
    with probed("xpu.sysman", host.places) as source:
        devices, problems = source.inventory()
    assert {device.pci_address: device.state for device in devices} == {
        A: DeviceState.LOST,
        B: DeviceState.OPERATIONAL,
    }
    assert [problem.code for problem in problems] == ["card-silent"]
    assert A in problems[0].message


def test_several_cards_that_are_lost_from_the_start_are_told_too(host: XpuHost) -> None:
    host.card(C)
    host.scenario([at(B, code=LOST), at(C), at(A, code=LOST)])
    with probed("xpu.sysman", host.places) as source:
        devices, problems = source.inventory()
        readings = source.read()
    assert {device.pci_address: device.state.value for device in devices} == {
        A: "lost", B: "lost", C: "operational",
    }  # fmt: skip
    assert [problem.code for problem in problems] == ["card-silent"] * 2
    for address in (A, B):
        assert readings[f"pci:{address}"]["utilization_percent"].status is ReadingStatus.FAILED
        assert "lost" in str(readings[f"pci:{address}"]["utilization_percent"].reason)


def test_a_card_that_level_zero_leaves_out_says_so(host: XpuHost) -> None:
    found = sampled(host, [at(A)])
    assert found[f"pci:{B}"]["utilization_percent"].status is ReadingStatus.FAILED
    assert "does not list this card" in str(found[f"pci:{B}"]["utilization_percent"].reason)
    assert found[f"pci:{A}"]["utilization_percent"].status is OK


def test_a_call_that_hangs_costs_its_own_card_alone(host: XpuHost) -> None:
    host.scenario([at(A), at(B)])
    with probed("xpu.sysman", host.places) as source:
        source.inventory()
        source.read()
        host.scenario([at(A, hang=1), at(B)])
        for _ in range(2):  # the second one does not wait for it again
            readings = source.read()
            assert readings[f"pci:{A}"]["utilization_percent"].status is ReadingStatus.FAILED
            assert "has not come back" in str(readings[f"pci:{A}"]["utilization_percent"].reason)
            assert readings[f"pci:{B}"]["utilization_percent"].status is OK


def test_the_process_ends_when_a_card_can_be_opened_that_could_not_be(host: XpuHost) -> None:
    host.scenario([at(A), at(B)])
    with probed("xpu.sysman", host.places) as source:
        source.inventory()
        host.card(C)
        with pytest.raises(EOFError):
            source.inventory()


def test_the_process_ends_when_a_fresh_one_would_see_cards(host: XpuHost) -> None:
    host.scenario([], init=UNINITIALIZED)
    with probed("xpu.sysman", host.places) as source:
        for _ in range(2):
            with pytest.raises(SourceFault):
                source.inventory()
        host.scenario([at(A)])
        with pytest.raises(EOFError):
            source.inventory()


def test_why_sysman_cannot_be_asked(host: XpuHost, tmp_path_factory: pytest.TempPathFactory) -> None:
    def fault(**changes: object) -> SourceFault:
        with probed("xpu.sysman", host.places) as source, pytest.raises(SourceFault) as caught:
            source.inventory()
        assert caught.value.remedy
        return caught.value

    host.scenario([], init=UNINITIALIZED)
    assert fault().code == "sees-nothing"
    host.scenario([])
    assert "lists no GPU" in fault().message
    assert host.loader is not None
    host.loader.unlink()
    assert fault().code == "loader-missing"
    host.loader.write_text("no library")
    assert fault().code == "loader-missing"
    host.loader = build_library(tmp_path_factory.mktemp("old"), "-DTOO_OLD")
    assert fault().code == "loader-too-old"


def test_sysfs_reads_sensors_of_xe(host: XpuHost) -> None:
    sensors = {
        "name": "xe", "energy1_input": "0", "energy1_label": "card", "energy2_input": "5000000", "energy2_label": "pkg",
        "power1_max": "200000000", "temp2_input": "61000", "temp2_label": "pkg", "temp3_input": "70000",
        "temp3_label": "vram", "fan1_input": "900", "fan2_input": "1100",
    }  # fmt: skip
    files = {f"hwmon/hwmon5/{name}": f"{value}\n" for name, value in sensors.items()}
    clocks = {"act_freq": "2100", "throttle/status": "1", "throttle/reason_pl1": "1", "throttle/reason_thermal": "0"}
    files |= {f"tile0/gt0/freq0/{name}": f"{value}\n" for name, value in clocks.items()}
    link = {"current_link_speed": "2.5 GT/s PCIe\n", "current_link_width": "1\n"}
    folder = host.card(C, files={**files, **link})
    (folder.parent / "current_link_speed").write_text("16.0 GT/s PCIe\n")
    (folder.parent / "current_link_width").write_text("8\n")
    with probed("xpu.sysfs", host.places) as source:
        source.inventory()
        assert values(source, C)["power_watts"].status is PENDING
        (folder / "hwmon/hwmon5/energy2_input").write_text("25000000\n")
        time.sleep(0.11)
        found = values(source, C)
    watts = found.pop("power_watts").value
    assert isinstance(watts, float)
    assert 1 < watts <= 20 / 0.11
    assert {name: reading.value for name, reading in found.items()} == {
        "energy_joules": 25.0, "power_limit_watts": 200.0, "temperature_celsius": 61.0,
        "temperature_memory_celsius": 70.0,
        "fan_rpm": 1100, "clock_mhz": 2100, "throttle_reasons": "pl1", "pcie_gen": 4, "pcie_width": 8,
    }  # fmt: skip


def test_sysfs_lists_what_no_runtime_can_use(host: XpuHost) -> None:
    host.card(C, driver=None)
    host.card(D, files={"survivability_mode": "1\n"})
    (host.dev / "dri/renderD129").unlink()
    with probed("xpu.sysfs", host.places) as source:
        devices, problems = source.inventory()
    assert [device.state.value for device in devices] == ["operational", "no-node", "not-driven", "disabled"]
    assert [problem.code for problem in problems] == ["no-node", "not-driven", "recovery-mode"]
    assert all(problem.remedy for problem in problems)
    assert devices[3].details["recovery"] is True
    assert devices[0].details["node"] == str(host.dev / "dri/renderD128")


def test_a_card_without_its_link_by_path_is_none_for_the_runtime(host: XpuHost) -> None:
    (host.dev / f"dri/by-path/pci-{B}-render").unlink()
    with probed("xpu.sysfs", host.places) as source:
        devices, problems = source.inventory()
        reading = values(source, B)["utilization_percent"]
    assert [device.state.value for device in devices] == ["operational", "no-node"]
    assert "by-path" in problems[0].message
    assert "by-path" in str(reading.reason)


def test_access_is_judged_by_opening(host: XpuHost, unprivileged: tuple[str, ...]) -> None:
    (host.dev / "dri/renderD129").chmod(0)
    with probed("xpu.sysfs", host.places, prefix=unprivileged) as source:
        devices, problems = source.inventory()
        reading = values(source, B)["utilization_percent"]
    assert reading.status is DENIED
    assert "group" in str(reading.reason)
    assert [device.details["node_opens"] for device in devices] == [True, False]
    assert [device.state.value for device in devices] == ["operational", "no-access"]
    assert [problem.code for problem in problems] == ["no-access"]
    assert "group" in str(problems[0].remedy)


def test_processes_count_once_and_probes_and_monitors_not_at_all(host: XpuHost) -> None:
    def show(ccs: int, total: int) -> None:
        text = xe_client(A, 41, ccs=ccs, total=total)
        host.process(20417, {"5": ("/dev/dri/renderD128", text), "6": ("/dev/dri/renderD128", text)})
        host.process(20418, {"5": ("/dev/dri/renderD128", text)}, command="python3 child.py")

    show(0, 1000)
    probe = "python3 -c accel_tui.devices.probe xpu.sysman"
    host.process(99, {"3": ("/dev/dri/renderD129", "drm-driver: xe\n")}, probe)
    host.process(97, {"3": ("/dev/dri/renderD129", xe_client(B, 9, ccs=1, total=2))}, "/usr/bin/xpumd -p x")
    host.process(98, {"3": ("/tmp/dri/renderD129", xe_client(B, 7, ccs=1, total=2))})
    with probed("xpu.sysfs", host.places) as source:
        source.inventory()
        assert values(source, A)["utilization_percent"].status is PENDING
        show(600, 2000)
        found = source.read()
        held = source.holders()
    mine = found[f"pci:{A}"]
    assert (mine["utilization_percent"].value, mine["utilization_percent"].source) == (60.0, "fdinfo")
    assert mine["memory_used_bytes"].value == 9437184 << 10
    assert "utilization_percent" not in found[f"pci:{B}"]
    assert [(holder.pid, holder.command) for holder in held[f"pci:{A}"]] == [
        (20417, "python3 train.py"),
        (20418, "python3 child.py"),
    ]
    assert not held.get(f"pci:{B}")


def test_alone_sysfs_says_why_it_has_no_utilization(host: XpuHost) -> None:
    from dataclasses import replace

    with probed("xpu.sysfs", replace(host.places, xpu_source="sysfs")) as source:
        source.inventory()
        reading = values(source, A)["utilization_percent"]
    assert reading.status is ReadingStatus.ABSENT
    assert "Sysman" in str(reading.reason)


def test_sysman_names_the_processes_that_the_driver_names(host: XpuHost) -> None:
    host.process(20417, {})
    host.scenario([at(A, pid=20417), at(B)])
    with probed("xpu.sysman", host.places) as source:
        source.inventory()
        held = source.holders()
    assert [holder.command for holder in held[f"pci:{A}"]] == ["python3 train.py"]
    assert held[f"pci:{B}"] == ()


def test_the_real_loader_is_too_old_or_lists_nothing(host: XpuHost, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        real = ctypes.CDLL(LOADER)
    except OSError:
        pytest.skip("this host has no Level Zero loader (Debian: apt install libze1); the library built here stands in")
    monkeypatch.setenv("ZE_ENABLE_NULL_DRIVER", "1")  # a driver without devices that the loader brings along
    host.loader = None
    with probed("xpu.sysman", host.places) as source, pytest.raises(SourceFault) as caught:
        source.inventory()
    assert caught.value.code == ("sees-nothing" if hasattr(real, "zesInit") else "loader-too-old")


def test_the_source_is_started_once_there_is_a_card(tmp_path: Path, sysman_library: Path) -> None:
    entries = [entry for entry in BUILT_IN if entry.label == "xpu.sysfs"]
    host = XpuHost(tmp_path)

    async def run() -> None:
        sampler = Sampler(host.places, entries=entries)
        await sampler.start()
        try:
            assert (await sampler.inventory(wait=30)).devices == ()
            assert sampler.probe_pids == {"xpu.sysfs": None}
            host.card(A)
            sampler.retry()
            while not sampler.snapshot().devices:
                await asyncio.sleep(0.02)
        finally:
            await sampler.stop()

    asyncio.run(run())
