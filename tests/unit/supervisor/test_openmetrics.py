"""The text of `/metrics`."""

from __future__ import annotations

from accel_tui.model.devices import Device, DeviceView, Inventory, absent, ok
from accel_tui.model.runs import Progress, Run, RunState
from accel_tui.supervisor.openmetrics import render

NASTY = 'a "quoted" \\ name\nwith a line feed \udcff'


def _text() -> str:
    readings = {
        "power_watts": ok(71.5, "sysfs"),
        "energy_joules": ok(12, "sysfs"),
        "throttle_reasons": ok("thermal", "sysfs"),
        "fan_rpm": absent("no fan"),
    }
    device = Device("pci:0000:17:00.0", "gaudi", "hpu", NASTY)
    run = Run(
        "20260101-000000-abcd", NASTY, "train", RunState.RUNNING, "/x", "now", progress=Progress(step=3, loss=0.5)
    )
    return render(Inventory("host", "now", (DeviceView(device, readings),)), [run])


def test_every_line_is_a_comment_or_a_sample_and_the_end_is_marked() -> None:
    lines = _text().split("\n")
    assert lines[-2:] == ["# EOF", ""]
    assert all(line.startswith(("# ", "accel_tui_")) for line in lines[:-1])
    _text().encode()


def test_foreign_text_is_escaped() -> None:
    assert 'name="a \\"quoted\\" \\\\ name\\nwith a line feed \N{REPLACEMENT CHARACTER}"' in _text()


def test_only_numbers_that_were_read_appear() -> None:
    text = _text()
    assert 'accel_tui_device_power_watts{device="pci:0000:17:00.0",vendor="gaudi"} 71.5' in text
    assert 'accel_tui_device_energy_joules_total{device="pci:0000:17:00.0",vendor="gaudi"} 12' in text
    assert "fan_rpm" not in text
    assert "thermal" not in text


def test_runs_are_counted_by_state() -> None:
    assert 'accel_tui_runs{state="running"} 1' in _text()
    assert 'accel_tui_runs{state="queued"} 0' in _text()
    assert "accel_tui_run_step" in _text()
