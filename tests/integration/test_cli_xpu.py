"""Intel GPUs on the command line: what a person sees of cards, of missing parts and of missing rights."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine, changed
from support.schemas import check
from support.waiting import wait_for
from support.world import SOURCE
from support.xpu_host import NO_PERMISSION, XpuHost, at, build_library, xe_client

A, B = "0000:1a:00.0", "0000:4b:00.0"
BUILT_IN = "0000:00:02.0"


@pytest.fixture
def line(own_world: object) -> Iterator[CommandLine]:
    line = CommandLine()
    yield line
    line.close()


@pytest.fixture
def host(tmp_path: Path, sysman_library: Path, monkeypatch: pytest.MonkeyPatch) -> XpuHost:
    """Two cards and an integrated GPU, which Sysman lists in the opposite order; the settings name all of it."""
    host = XpuHost(tmp_path, sysman_library)
    host.card(BUILT_IN, 0x7D55, driver="i915")
    host.card(A)
    host.card(B)
    show(host)
    for name, value in host.variables.items():
        monkeypatch.setenv(name, value)
    return host


def show(host: XpuHost, **of_all: Any) -> None:
    integrated = {"id": 0x7D55, "flags": 1, "name": "Intel(R)_Graphics_[0x7d55]"}
    cards = [at(B, size=1 << 35), at(A, size=1 << 34), at(BUILT_IN, **integrated)]
    host.scenario([{**card, **of_all} for card in cards])


def gpus(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {device["pci_address"]: device for device in document["devices"] if device["vendor"] == "xpu"}


def problems(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [problem for problem in document["problems"] if problem["vendor"] == "xpu"]


def test_devices_join_the_layers_and_auto_leaves_the_integrated_one(line: CommandLine, host: XpuHost) -> None:
    document = line("devices", "--json").expect(0).json()
    check("devices", document)
    found = gpus(document)
    assert list(found) == [BUILT_IN, A, B]
    assert {address: device["pci_order"] for address, device in found.items()} == {BUILT_IN: None, A: 0, B: 1}
    assert [found[address]["memory_total_bytes"] for address in (A, B)] == [1 << 34, 1 << 35]
    assert (found[A]["numa_node"], found[A]["driver_version"]) == (0, "kernel 6.17.0-test")
    readings = found[A]["readings"]
    assert (readings["utilization_percent"]["status"], readings["utilization_percent"]["source"]) == ("ok", "sysman")
    assert readings["power_watts"]["status"] == "ok"
    assert problems(document) == []
    assert "Arc" in line("devices").expect(0).out
    picked = line("run", "--devices", "auto", "--json", "--", "true").expect(0).json()["id"]
    line.wait_state(picked, "finished")
    assert line.show(picked)["devices"] in ([f"pci:{A}"], [f"pci:{B}"])


def test_engines_denied_but_our_own_run_is_seen(line: CommandLine, host: XpuHost) -> None:
    show(host, engines_code=NO_PERMISSION)
    passed = itertools.count(1000, 1000)

    def looked() -> dict[str, dict[str, Any]] | None:
        """The cards while our process computes for 60 % of the time; None before there are two samples of it."""
        total = next(passed)
        host.process(20417, {"5": ("/dev/dri/renderD129", xe_client(A, 41, ccs=total * 6 // 10, total=total))})
        found = gpus(line("devices", "--json").expect(0).json())
        return found if found[A]["readings"]["utilization_percent"]["status"] == "ok" else None

    found = wait_for(looked, what="engine time of our own process")
    assert found is not None
    mine, other = found[A]["readings"]["utilization_percent"], found[B]["readings"]["utilization_percent"]
    assert (mine["value"], mine["source"]) == (60.0, "fdinfo")
    assert other["status"] == "denied"
    assert "needs root" in other["reason"]
    assert [(holder["pid"], holder["command"]) for holder in found[A]["holders"]] == [(20417, "python3 train.py")]


def python_with(folder: Path, pyzes: str | None) -> str:
    """An interpreter with our packages and this version of pyzes, or without any; that one must never be imported."""
    venv.create(folder, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("pyzes", "__pycache__")):
            (site / entry.name).symlink_to(entry)
    if pyzes is not None:
        (site / "pyzes.py").write_text("raise SystemExit('a version that answers nonsense was imported')\n")
        (site / f"pyzes-{pyzes}.dist-info").mkdir()
        (site / f"pyzes-{pyzes}.dist-info/METADATA").write_text(
            f"Metadata-Version: 2.1\nName: pyzes\nVersion: {pyzes}\n"
        )
    return str(folder / "bin/python")


@pytest.mark.parametrize("version", [None, "0.1.1"], ids=["absent", "0.1.1"])
def test_without_a_fit_pyzes_the_cards_are_shown_with_the_remedy(
    host: XpuHost, tmp_path: Path, version: str | None
) -> None:
    python = python_with(tmp_path / "venv", version)

    def call(*argv: str) -> subprocess.CompletedProcess[str]:
        environment = changed({"PYTHONPATH": str(SOURCE)})
        command = [python, "-m", "accel_tui", *argv]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    try:
        said = call("devices", "--json")
        assert said.returncode == 0, said.stderr
        document = json.loads(said.stdout)
    finally:
        call("supervisor", "stop")
    found = gpus(document)
    assert list(found) == [BUILT_IN, A, B]
    assert [device["state"] for device in found.values()] == ["operational"] * 3
    reading = found[A]["readings"]["utilization_percent"]
    assert reading["status"] == "failed"
    assert "pyzes" in reading["reason"]
    (told,) = problems(document)
    assert "pip install" in told["remedy"]
    assert found[A]["readings"]["pcie_gen"]["source"] == "sysfs"


@pytest.mark.parametrize("fault", ["absent", "too-old"])
def test_without_a_fit_loader_the_cards_are_shown_with_the_remedy(
    line: CommandLine, host: XpuHost, fault: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert host.loader is not None
    host.loader.unlink()
    if fault == "too-old":
        shutil.copyfile(build_library(tmp_path_factory.mktemp("old"), "-DTOO_OLD"), host.loader)
    document = line("devices", "--json").expect(0).json()
    assert list(gpus(document)) == [BUILT_IN, A, B]
    assert "loader" in gpus(document)[A]["readings"]["utilization_percent"]["reason"]
    (told,) = problems(document)
    assert told["code"] == f"source-loader-{'missing' if fault == 'absent' else fault}"
    assert told["remedy"]
    examined = line("doctor", "--json").json()["checks"]
    assert "loader" in next(one for one in examined if one["id"] == f"devices-{told['code']}")["message"]


def test_a_library_that_settings_name_is_asked_without_sysfs(
    line: CommandLine, host: XpuHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCEL_TUI_SYSFS_ROOT", str(tmp_path / "empty"))
    document = line("devices", "--json").expect(0).json()
    assert list(gpus(document)) == [BUILT_IN, A, B]
    silent = [problem for problem in problems(document) if problem["code"] == "layer-silent"]
    assert len(silent) == 1
    assert "xpu.sysfs" in silent[0]["message"]
    assert A in silent[0]["message"]


def test_a_host_without_intel_gpus_has_no_process_for_them(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in XpuHost(tmp_path).variables.items():
        monkeypatch.setenv(name, value)
    document = line("devices", "--json").expect(0).json()
    assert gpus(document) == {}
    assert problems(document) == []
    pid = line.supervisor()
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children(pid)]
    assert not [command for command in commands if b"xpu." in command]
    said = {one["id"]: one for one in line("doctor", "--json").json()["checks"]}
    assert said["xpu"]["level"] == "pass"
    assert "no PCI device" in said["xpu"]["message"]


def children(pid: int | None) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_64_cards_are_sampled_within_the_deadline(
    line: CommandLine, tmp_path: Path, sysman_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = XpuHost(tmp_path, sysman_library)
    addresses = [f"{domain:04x}:{bus:02x}:00.0" for domain in range(8) for bus in range(0x10, 0x18)]
    for address in addresses:
        host.card(address)
    host.scenario([at(address, driver=index // 8, slow=1) for index, address in enumerate(addresses)], drivers=8)
    for name, value in host.variables.items():
        monkeypatch.setenv(name, value)
    document = line("devices", "--json").expect(0).json()
    found = gpus(document)
    assert list(found) == addresses
    assert [device["pci_order"] for device in found.values()] == list(range(64))
    statuses = {device["readings"]["utilization_percent"]["status"] for device in found.values()}
    assert statuses == {"ok"}
    assert problems(document) == []


SMI = """#!{python}
import json, sys
answers = json.loads({answers!r})
print(answers.get(" ".join(sys.argv[1:]), answers.get("else", "")))
"""


@pytest.mark.parametrize(
    ("discovery", "stats", "level", "words"),
    [
        (
            {"device_list": [{"device_id": 0, "pci_bdf_address": A}, {"device_id": 1, "pci_bdf_address": B}]},
            {"device_level": [{"metrics_type": "XPUM_STATS_MEMORY_USED", "value": 9216.4}]},
            "warning",
            f"does not list {BUILT_IN}",
        ),
        (
            {"device_list": [{"device_index": n, "pci_bdf": at} for n, at in enumerate((BUILT_IN, A, B))]},
            {"memory": {"used_mib": {"tile_0": {"current": 9216}}}},
            "pass",
            "xpu-smi 2.0.1 lists the same 3 cards",
        ),
        ("+----+\n| Device ID |", "", "unknown", "text where JSON was asked for"),
    ],
    ids=["1.x", "2.x", "text"],
)
def test_xpu_smi_is_a_cross_check_of_doctor(
    line: CommandLine, host: XpuHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discovery: Any, stats: Any,
    level: str, words: str,
) -> None:  # fmt: skip
    told = discovery if isinstance(discovery, str) else json.dumps(discovery)
    answers = {"discovery -j": told, "-v": "2.0.1", "else": json.dumps(stats)}
    tool = tmp_path / "xpu-smi"
    tool.write_text(SMI.format(python=sys.executable, answers=json.dumps(answers)))
    tool.chmod(0o755)
    monkeypatch.setenv("ACCEL_TUI_XPU_SMI", str(tool))
    checks = line("doctor", "--json").expect(0).json()["checks"]
    (found,) = [one for one in checks if one["id"] == "xpu-smi"]
    assert found["level"] == level
    assert words in found["message"]
    memory = [one for one in checks if one["id"] == "xpu-smi-stats"]
    assert {one["level"] for one in memory} <= {"pass"}
    assert len(memory) == {"warning": 2, "pass": 3, "unknown": 0}[level]
