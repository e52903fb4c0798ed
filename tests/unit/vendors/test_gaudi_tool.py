"""Calls of the vendor's tool: bounded, killed with their children, never doubled; and what its texts mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accel_tui.model.devices import SourceFault
from accel_tui.vendors.gaudi import facts, places, reports, tool
from support.gaudi import GaudiHost
from support.waiting import wait_for


def program(folder: Path, body: str) -> tool.Tool:
    path = folder / "hl-smi"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return tool.Tool(str(path), tool.environment(os.environ))


def test_one_that_ignores_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    hanging = program(tmp_path, f"trap '' TERM\nsleep 3600 & echo $! > {tmp_path}/child\nwait\nsleep 3600")
    with pytest.raises(SourceFault) as caught:
        hanging.run([], 0.3)
    assert (caught.value.code, caught.value.rests) == ("hung", True)
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not _runs(child), what="the end of the child")


def _runs(pid: int) -> bool:
    try:
        return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_child_that_holds_the_pipe_does_not_hold_the_answer(tmp_path: Path) -> None:
    answer = program(tmp_path, "echo done; sleep 3600 &").run([], 30)
    assert (answer.code, answer.out) == (0, "done\n")


def test_output_without_end_is_cut(tmp_path: Path) -> None:
    with pytest.raises(SourceFault):
        program(tmp_path, "exec cat /dev/zero").run([], 0.5)


def test_logs_go_to_a_private_folder_and_the_language_is_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    answer = program(tmp_path, 'echo "$HABANA_LOGS $LC_ALL $ENABLE_CONSOLE"; cat').run([], 30)
    folder, *rest = answer.out.split()
    assert rest == ["C", "true"]
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert places.log_folder() == folder, "the same again"
    Path(folder).chmod(0o777)
    assert places.log_folder() != folder, "not one that others may write"


def test_where_the_tool_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = GaudiHost(tmp_path / "host", ())
    path = str(host.install_tool())
    assert tool.find(None, {"PATH": str(host.tool.parent)}) == path
    assert tool.find(path, {"PATH": ""}) == path
    assert tool.find("hl-smi", {"PATH": str(host.tool.parent)}) == path
    monkeypatch.setattr(places, "HL_SMI_FOLDERS", (str(host.tool.parent),))
    assert tool.find(None, {"PATH": ""}) == path
    host.tool.chmod(0o644)
    with pytest.raises(SourceFault, match="cannot be executed"):
        tool.find(path, {"PATH": ""})
    with pytest.raises(SourceFault, match="does not exist"):
        tool.find("/no/hl-smi", {"PATH": ""})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0000:17:00.0", "0000:17:00.0"),
        ("00000000:5D:00.0", "0000:5d:00.0"),
        ("5d:00.0", "0000:5d:00.0"),
        ("0001:5d:00.0", "0001:5d:00.0"),
        ("5d:00", None),
        ("", None),
        (None, None),
    ],
)
def test_addresses(text: str | None, meant: str | None) -> None:
    assert facts.address(text) == meant


@pytest.mark.parametrize(("text", "gen"), [("Gen4", 4), ("5", 5), ("16GT/s", 4), ("32.0 GT/s PCIe", 5), ("fast", None)])
def test_link_generations(text: str, gen: int | None) -> None:
    assert facts.pcie_generation(text) == gen


@pytest.mark.parametrize("number", [0x10601DA3, 0x1DA31060, 0x1060])
def test_the_device_id_stands_in_either_half(number: int) -> None:
    assert facts.device_id_of(number) == 0x1060


def test_ports_and_rows_of_the_reports() -> None:
    found = reports.ports("port  0:        UP\nport  1:        UP\nport 10:        DOWN\n")
    assert found == reports.Ports(up=2, listed=3, down=(10,))
    assert reports.ports("port 0: UP\nport 8: DOWN\n", without=(8,)) == reports.Ports(up=1, listed=1, down=())
    assert reports.ports("no such option\n") is None
    assert reports.external_ports("port 7: internal\nport 8: external\n") == (8,)
    text = (
        "[0] AIP (accel0) 0000:17:00.0\n\tPCI\n\t\tBus Id : 0000:17:00.0\n\tReplaced Rows\n\t\tSingle Bit ECC : 1\n"
        "\t\tDouble Bit ECC : 0\n\t\tPending : No\n[1] AIP (accel1) 0000:29:00.0\n\tReplaced Rows\n\t\tPending : Yes\n"
    )
    assert reports.replaced_rows(text) == {
        "0000:17:00.0": {
            "replaced_rows_single_bit": 1,
            "replaced_rows_double_bit": 0,
            "replaced_rows_pending": False,
        },
        "0000:29:00.0": {"replaced_rows_pending": True},
    }


def test_fields_of_the_help() -> None:
    listed = reports.fields(
        "  -Q, --query-aip=FIELDS  index, bus_id, memory.used,\n   ecc.errors.dram-corrected.volatile.total\n"
    )
    assert {"index", "bus_id", "memory.used", "ecc.errors.dram-corrected.volatile.total"} <= listed
    assert "bus_id" not in reports.fields("usage: hl-smi [options]\n")
