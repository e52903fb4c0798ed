"""Each Gaudi source alone keeps the provider contract: on stand-in trees, a stand-in tool, the real binding."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from accel_tui.devices.merge import Layer, join_devices
from accel_tui.jobs import selectors
from accel_tui.model.devices import DeviceState, DeviceView, Inventory, ReadingStatus, SourceFault
from accel_tui.vendors.gaudi import hlml, hlsmi, hwmon, sysfs
from contract.provider_suite import check_source
from support import world
from support.gaudi import EIGHT, KEYS, GaudiHost, Slot, cells


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GaudiHost:
    made = GaudiHost(tmp_path / "host")
    for name, value in made.variables(HABANA_LOGS=str(tmp_path)).items():
        monkeypatch.setenv(name, value)
    return made


def test_the_kernel_tells_identity_state_and_what_is_free(host: GaudiHost) -> None:
    host.hold(EIGHT[1], 77)
    devices, readings = check_source(lambda: sysfs.open_source(host.places()))
    assert {d.key: (d.module_id, d.index, d.numa_node) for d in devices} == {
        slot.key: (slot.module, slot.index, 1) for slot in EIGHT
    }
    assert all(device.state is DeviceState.OPERATIONAL for device in devices)
    assert devices[0].details["node"] == "accel/accel2"
    assert {name: reading.value for name, reading in readings[KEYS[0]].items()} == {
        "pcie_gen": 5,
        "pcie_width": 16,
        "reset_count": 1,
    }


def test_the_tool_tells_what_its_table_says(host: GaudiHost) -> None:
    devices, readings = check_source(lambda: hlsmi.open_source(host.places(hl_smi=str(host.install_tool()))))
    assert [(d.module_id, d.index, d.name) for d in devices] == [(s.module, s.index, "HL-325L") for s in EIGHT]
    assert readings[KEYS[3]]["power_watts"].value == 203.0
    assert readings[KEYS[3]]["memory_used_bytes"].value == 672 << 20


def test_the_real_binding_tells_what_the_library_says(host: GaudiHost, hlml_library: Path) -> None:
    places = host.places(hlml_library=str(hlml_library))
    devices, readings = check_source(lambda: hlml.open_source(places))
    assert [(d.module_id, d.index, d.name) for d in devices] == [(s.module, s.index, "HL-325L") for s in EIGHT]
    third = {name: reading.value for name, reading in readings[KEYS[3]].items()}
    assert third["utilization_percent"] == 30.0
    assert third["power_watts"] == 224.5
    assert third["memory_used_bytes"] == 3672 << 20
    assert (third["links_up"], third["links_expected"]) == (20, 21), "external ports may be unplugged"
    assert readings[KEYS[1]]["throttle_reasons"].value == "power, thermal"


def test_one_call_that_says_lost_is_enough_and_a_card_may_come_back(host: GaudiHost, hlml_library: Path) -> None:
    source = hlml.open_source(host.places(hlml_library=str(hlml_library)))

    def states() -> list[str]:
        source.read()
        return [device.state.value for device in source.inventory()[0]]

    assert states() == ["operational"] * 8
    host.library_does("code-hlml_device_get_power_usage", "15")
    assert states() == states() == ["lost"] * 8
    (host.library_folder / "code-hlml_device_get_power_usage").unlink()
    assert states() == ["operational"] * 8
    host.library_does("count", "7")
    host.library_does("code-hlml_device_get_memory_info", "6")  # "not found": the cards are looked for anew
    source.read()
    assert [device.state.value for device in source.inventory()[0]] == ["operational"] * 7 + ["lost"]


@pytest.mark.parametrize("code", [2, 6, 10, 15, 20, 21, 49, 999])
@pytest.mark.parametrize("symbol", ["hlml_device_get_pci_info", "hlml_device_get_memory_info", "hlml_nic_get_link"])
def test_no_code_of_the_library_breaks_the_contract(
    host: GaudiHost, hlml_library: Path, symbol: str, code: int
) -> None:
    host.library_does(f"code-{symbol}", str(code))
    devices, readings = check_source(lambda: hlml.open_source(host.places(hlml_library=str(hlml_library))))
    assert len(devices) == 8
    assert readings[KEYS[0]]["utilization_percent"].value == 0.0


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\x1b[2J\n", b"-1\n", b"99999999999999999999999\n", b"x" * 5000, None]
)
def test_no_content_of_an_attribute_breaks_the_contract(host: GaudiHost, content: bytes | None) -> None:
    """All attributes of one card at once; None makes them folders. The other cards stay as they are."""
    folder = host.sysfs / "bus/pci/devices" / EIGHT[4].address
    for file in [path for path in folder.iterdir() if path.name not in ("vendor", "pci_addr")]:
        file.unlink()
        file.mkdir() if content is None else file.write_bytes(content)
    devices, _ = check_source(lambda: sysfs.open_source(host.places()))
    assert [device.key for device in devices] == list(KEYS)
    assert devices[4].state is DeviceState.UNKNOWN
    assert devices[4].module_id is None
    assert all(device.state is DeviceState.OPERATIONAL for device in devices if device.key != KEYS[4])
    sensed = hwmon.open_source(host.places()).read()[KEYS[4]]
    assert all(reading.value is None for reading in sensed.values())


def test_sensors_of_the_kernel_are_read_one_file_each(host: GaudiHost) -> None:
    host.sensors(EIGHT[0])
    source = hwmon.open_source(host.places())
    named = source.read()[KEYS[0]]
    assert {name: reading.value for name, reading in named.items()} == {
        "temperature_celsius": 44.0,
        "power_watts": 221.0,
        "power_limit_watts": 850.0,
        "clock_mhz": 1650.0,
    }
    assert source.read()[KEYS[1]] == {}, "what is not there is not offered"
    host.sensors(EIGHT[1], millidegrees=999_000)
    assert source.read()[KEYS[1]]["temperature_celsius"].status is ReadingStatus.FAILED


@pytest.mark.parametrize("modules", [range(8), (0, 4, 1, 5, 2, 6, 3, 7), (1, 4, 5, 2)], ids=["as is", "mixed", "guest"])
def test_a_selector_names_the_slot_whatever_the_index_is(tmp_path: Path, modules: Sequence[int]) -> None:
    """The n-th node belongs to the n-th module of `modules`."""
    slots = [Slot(module, index, EIGHT[module].address) for index, module in enumerate(modules)]
    made = GaudiHost(tmp_path / "mapped", slots)
    devices, _ = sysfs.open_source(made.places()).inventory()
    listed, _ = join_devices([Layer("gaudi.sysfs", {device.key: device for device in devices})])
    inventory = Inventory("host", "2026-01-01T00:00:00.000Z", tuple(DeviceView(device) for device in listed))
    for slot in slots:
        chosen = selectors.resolve(f"gaudi:{slot.module}", inventory)
        assert chosen.keys == (slot.key,)
        assert chosen.devices[0].index == slot.index


def test_throttling_is_a_counter_that_grew(host: GaudiHost) -> None:
    """Its unit is not known, so only growth counts; the first look has nothing to compare with."""
    now = 1000.0

    def shown(power: str, thermal: str) -> None:
        violations = {"stats.violation.power": power, "stats.violation.thermal": thermal}
        host.behave(cards=[cells(slot, **violations) for slot in EIGHT])

    tool = host.install_tool()
    shown("5", "7")
    source = hlsmi.HlSmiSource(str(tool), os.environ, clock=lambda: now)
    seen = [source.read()[KEYS[0]].get("throttle_reasons")]
    for power, thermal in (("5", "7"), ("9", "7"), ("9", "8"), ("1", "1")):
        now += 31.0
        shown(power, thermal)
        seen.append(source.read()[KEYS[0]]["throttle_reasons"])
    assert seen[0] is None or seen[0].status is ReadingStatus.PENDING
    assert [reading.value for reading in seen[1:] if reading is not None] == ["none", "power", "thermal", "none"]


def test_a_container_has_the_cards_whose_nodes_it_has(host: GaudiHost, monkeypatch: pytest.MonkeyPatch) -> None:
    for slot in EIGHT[2:]:
        (host.dev / f"accel/accel{slot.index}").unlink()
    assert {device.state.value for device in sysfs.open_source(host.places()).inventory()[0][2:]} == {"no-node"}
    monkeypatch.setenv("HABANA_RUNTIME_ERROR", "no accelerators found")
    devices, problems = sysfs.open_source(host.places(hl_smi="hl-smi")).inventory()
    assert [device.state.value for device in devices] == ["operational"] * 2 + ["not-yours"] * 6
    assert ["no accelerators found" in problem.message for problem in problems] == [True]


def test_a_node_that_this_account_may_not_open_is_said(host: GaudiHost) -> None:
    (host.dev / f"accel/accel{EIGHT[0].index}").chmod(0)
    for folder in (host.folder.parent.parent, host.folder.parent, *host.folder.rglob("*"), host.folder):
        if folder.is_dir():
            folder.chmod(0o755)
    code = (
        "import os\n"
        "from accel_tui.model.places import Places\n"
        "from accel_tui.vendors.gaudi import sysfs\n"
        "source = sysfs.open_source(Places(sysfs_root='sys', dev_root='dev', proc_root='proc', hl_smi='x'))\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print([device.state.value for device in source.inventory()[0]][:2])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(world.SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    for slot in EIGHT[1:]:
        (host.dev / f"accel/accel{slot.index}").chmod(0o666)
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=host.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "['no-access', 'operational']\n", done.stderr


@pytest.mark.parametrize("name", ["hlml", "hlsmi", "sysfs", "hwmon"])
def test_a_host_without_anything_is_no_error_of_a_source(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    module = {"hlml": hlml, "hlsmi": hlsmi, "sysfs": sysfs, "hwmon": hwmon}[name]
    empty = GaudiHost(tmp_path / "empty", ()).places()
    source = module.open_source(empty)
    if name in ("sysfs", "hwmon"):
        assert source.inventory() == ([], [])
        assert source.read() == {}
        assert source.holders() == {}
    else:
        with pytest.raises(SourceFault) as caught:
            source.inventory()
        assert caught.value.remedy
