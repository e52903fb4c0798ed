"""Looking without starting anything: devices, plans, checks, the doctor, metrics of a command."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.schemas import check

COMMAND = '[[job]]\nname = "a"\nkind = "command"\n[job.launch.env]\nWORD = "x"\n[job.command]\nargv = ["echo", "hi"]\n'


@pytest.fixture
def demo(own_world: Path) -> Iterator[CommandLine]:
    line = CommandLine("--demo", "server8")
    yield line
    line.close()


@pytest.fixture
def file(own_world: Path) -> Path:
    path = own_world / "a.toml"
    path.write_text(COMMAND)
    return path


def test_devices_of_this_host(cli: CommandLine) -> None:
    document = cli("devices", "--json").expect(0).json()
    check("devices", document)
    (cpu,) = [device for device in document["devices"] if device["key"] == "cpu"]
    assert (cpu["torch_device"], cpu["simulated"], cpu["state"]) == ("cpu", False, "operational")
    assert cpu["readings"]["memory_used_bytes"]["status"] == "ok"
    text = cli("devices").expect(0).out
    assert "UTIL %" in text
    assert "free" in text


def test_devices_of_an_invented_host(demo: CommandLine) -> None:
    document = demo("devices", "--json").expect(0).json()
    check("devices", document)
    cards = [device for device in document["devices"] if device["vendor"] == "gaudi"]
    assert [card["module_id"] for card in cards] == list(range(8))
    assert all(card["simulated"] for card in cards)
    statuses = {reading["status"] for card in cards for reading in card["readings"].values()}
    assert {"ok", "denied"} <= statuses
    text = demo("devices").expect(0).out
    assert "gaudi:0" in text
    assert "simulated" in text
    assert "denied" in text


def test_a_plan_in_its_three_forms(cli: CommandLine, file: Path) -> None:
    document = cli("plan", str(file), "--json", "--devices", "cpu").expect(0).json()
    check("plan", document)
    assert (document["argv"], document["devices"], document["verified"]) == (["echo", "hi"], ["cpu"], True)
    assert {"name": "WORD", "value": "x", "action": "set"}.items() <= next(
        change for change in document["environment"] if change["name"] == "WORD"
    ).items()
    text = cli("plan", str(file), "--devices", "cpu").expect(0).out
    assert "echo hi" in text
    assert "+ WORD=x" in text
    assert "exec" in cli("plan", str(file), "--devices", "cpu", "--shell").expect(0).out
    assert cli.supervisor() is None
    assert not list(file.parent.glob("state/runs/*"))


def test_a_plan_for_devices_that_are_not_here(cli: CommandLine, file: Path) -> None:
    document = cli("plan", str(file), "--devices", "gaudi:0,1", "--json").expect(0).json()
    check("plan", document)
    assert not document["verified"]
    changes = {change["name"]: change["value"] for change in document["environment"]}
    assert changes["HABANA_VISIBLE_MODULES"] == "0,1"


def test_a_plan_takes_changes(cli: CommandLine, file: Path) -> None:
    document = cli("plan", str(file), "--set", "command.argv=['ls']", "--set", "launch.cwd=/", "--json").json()
    assert (document["argv"], document["cwd"]) == (["ls"], "/")


def test_check_and_doctor(cli: CommandLine, file: Path, own_world: Path) -> None:
    document = cli("check", str(file), "--devices", "cpu", "--json").expect(0).json()
    check("checks", document)
    assert "devices-here" in {finding["id"] for finding in document["checks"]}
    missing = cli("check", str(file), "--devices", "gaudi:0", "--json").expect(6).json()
    check("checks", missing)
    cli("supervisor", "stop").expect(0)
    bundle = own_world / "report.tar.gz"
    secret = {"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz"}
    findings = cli("doctor", "--json", "--bundle", str(bundle), environment=secret)
    check("checks", findings.json())
    assert findings.code == int(any(finding["level"] == "refusal" for finding in findings.json()["checks"]))
    assert cli.supervisor() is None
    with tarfile.open(bundle) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is None or b"hf_abcdef" not in content.read()


def test_metrics_of_a_run_without_curves(cli: CommandLine) -> None:
    ident = cli("run", "--devices", "cpu", "--wait", "--json", "--", "sleep", "1.5").expect(0).json()["id"]
    document = cli("metrics", ident, "--json").expect(0).json()
    check("metrics", document)
    assert document["series"] == []
    assert cli("metrics", ident, "--csv").expect(0).out.startswith("time,kind,device,name,step,value,unit\n")
    assert "No figures yet" in cli("metrics", ident).expect(0).out


def test_a_damaged_record_is_listed_as_lost(cli: CommandLine, own_world: Path) -> None:
    """By a supervisor that must rebuild its index from the folders."""
    ident = cli("run", "--devices", "none", "--wait", "--json", "--", "true").expect(0).json()["id"]
    cli("supervisor", "stop").expect(0)
    folder = own_world / "state/runs" / ident
    (folder / "spec.json").write_text("{")
    (folder / "exit.json").write_text("\0\0")
    for cache in (own_world / "state").glob("*.sqlite3*"):
        cache.unlink()
    listed = cli("runs", "--json").expect(0).json()
    check("runs", listed)
    (run,) = listed["runs"]
    assert (run["result"], run["cause"]) == ("lost", "record-damaged")
    cli("show", ident).expect(0)
    cli("rerun", ident).expect(8)
    named = [finding for finding in cli("doctor", "--json").json()["checks"] if ident in finding["message"]]
    assert named
