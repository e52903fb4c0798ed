"""Each Gaudi source alone keeps the provider contract: on stand-in trees, a stand-in tool, the real binding."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.model.devices import DeviceState, ReadingStatus, SourceFault
from accel_tui.vendors.gaudi import hlml, hlsmi, hwmon, sysfs
from contract.provider_suite import check_source
from support.gaudi import EIGHT, KEYS, GaudiHost


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
