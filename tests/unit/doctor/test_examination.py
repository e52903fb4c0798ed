"""`doctor`: what it finds on hosts of many kinds, without a supervisor and without changing anything."""

from __future__ import annotations

import dataclasses
import http.server
import json
import os
import socketserver
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from accel_tui import doctor
from accel_tui.config.settings import Settings
from accel_tui.doctor import cards, folders, process, software, supervisor, terminal
from accel_tui.doctor.examination import Examiner, examine
from accel_tui.doctor.host import Host
from accel_tui.model.errors import FileError, UsageError
from accel_tui.model.plans import Check, CheckLevel
from accel_tui.protocol.version import PROTOCOL, VERSION
from support.trees import write_tree

PASS, WARNING, REFUSAL, UNKNOWN = CheckLevel.PASS, CheckLevel.WARNING, CheckLevel.REFUSAL, CheckLevel.UNKNOWN


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host whose roots are empty folders."""
    sysfs, proc, dev = (tmp_path / name for name in ("sys", "proc", "dev"))
    for root in (sysfs, proc, dev):
        root.mkdir()
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return Host(Settings(sysfs_root=str(sysfs), proc_root=str(proc), dev_root=str(dev)), {"PATH": "/nowhere"}, state)


def by_id(checks: Iterable[Check]) -> dict[str, Check]:
    return {check.id: check for check in checks}


def only(checks: Iterable[Check]) -> Check:
    (check,) = checks
    return check


# The whole


def test_a_full_examination_changes_nothing_and_names_every_subject(host: Host, tmp_path: Path) -> None:
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    checks = doctor.examine(host.settings, os.environ, host.state_root)
    assert {"python", "accel-tui", "torch-stack", "devices", "gaudi", "xpu", "state-folder", "lock-folder"} <= set(
        by_id(checks)
    )
    assert {"run-records", "free-space", "supervisor", "logout", "terminal", "clock"} <= set(by_id(checks))
    assert json.dumps([check.to_json() for check in checks])
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_hung_or_broken_examiner_costs_its_own_finding_alone(host: Host) -> None:
    release = threading.Event()

    def hang(_host: Host) -> list[Check]:
        release.wait()
        return []

    def fail(_host: Host) -> list[Check]:
        raise RuntimeError("no such thing")

    examiners = [Examiner("hung", hang, 0.05), Examiner("broken", fail), Examiner("python", software.python)]
    checks = examine(host.settings, {}, host.state_root, examiners=examiners)
    release.set()
    assert [(check.id, check.level) for check in checks] == [("hung", UNKNOWN), ("broken", UNKNOWN), ("python", PASS)]
    assert "within" in checks[0].message
    assert "RuntimeError: no such thing" in checks[1].message


def test_a_demonstration_is_examined_as_one(host: Host) -> None:
    demo = dataclasses.replace(host, demo="server8", environment=dict(os.environ))
    found = by_id(cards.survey_devices(demo))
    assert "simulated as server8: 8 gaudi, 1 cpu; 1 not operational" in found["devices"].message
    assert found["devices-card-silent"].level is WARNING
    assert not list(cards.gaudi(demo)), "PCI tells nothing about simulated cards"
    with pytest.raises(UsageError):
        examine(host.settings, {}, host.state_root, "server9")


# Cards


def pci(host: Host, address: str, vendor: str, kind: str, *, driver: str | None = None) -> None:
    root = Path(host.settings.sysfs_root)
    folder = f"bus/pci/devices/{address}"
    write_tree(root, {f"{folder}/vendor": f"{vendor}\n", f"{folder}/class": f"{kind}\n"})
    if driver:
        (root / folder / "driver").symlink_to("../../../../bus/pci/drivers/x")
        (root / "bus/pci/drivers/x").mkdir(parents=True, exist_ok=True)


def node(host: Host, path: str, address: str) -> None:
    root = Path(host.settings.sysfs_root)
    (root / path).mkdir(parents=True)
    (root / path / "device").symlink_to(root / "bus/pci/devices" / address)


def test_no_card_says_what_was_looked_for(host: Host) -> None:
    pci(host, "0000:00:1f.0", "0x8086", "0x060100")
    assert "0x1da3" in only(cards.gaudi(host)).message
    assert only(cards.xpu(host)).level is PASS


def test_cards_without_driver_node_or_rights_are_told_apart(host: Host) -> None:
    pci(host, "0000:01:00.0", "0x1da3", "0x120000")
    pci(host, "0000:02:00.0", "0x1da3", "0x120000", driver="habanalabs")
    pci(host, "0000:03:00.0", "0x1da3", "0x120000", driver="habanalabs")
    node(host, "class/accel/accel2", "0000:03:00.0")
    node(host, "class/accel/accel_controlD2", "0000:03:00.0")
    write_tree(Path(host.settings.dev_root), {"accel/accel2": ""})
    found = by_id(cards.gaudi(host))
    assert "3 Gaudi" in found["gaudi"].message
    assert "0000:01:00.0" in found["gaudi-not-driven"].message
    assert "0000:02:00.0" in found["gaudi-no-node"].message
    assert "gaudi-no-access" not in found


def test_a_node_that_may_not_be_opened_names_the_group(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    pci(host, "0000:03:00.0", "0x8086", "0x038000", driver="xe")
    node(host, "class/drm/renderD128", "0000:03:00.0")
    write_tree(Path(host.settings.dev_root), {"dri/renderD128": ""})
    assert set(by_id(cards.xpu(host))) == {"xpu"}
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may open anything
    found = by_id(cards.xpu(host))["xpu-no-access"]
    assert found.remedy is not None
    assert "member of the group" in found.remedy
    (Path(host.settings.dev_root) / "dri/renderD128").chmod(0o600)
    shut = by_id(cards.xpu(host))["xpu-no-access"]
    assert "lets no group in" in str(shut.remedy), "membership would not help"


def test_nodes_of_older_gaudi_drivers_are_found(host: Host) -> None:
    pci(host, "0000:03:00.0", "0x1da3", "0x120000", driver="habanalabs")
    node(host, "class/habanalabs/hl0", "0000:03:00.0")
    write_tree(Path(host.settings.dev_root), {"hl0": "", "hl_controlD0": ""})
    assert set(by_id(cards.gaudi(host))) == {"gaudi"}


def test_a_named_library_that_is_not_there_is_told(host: Host) -> None:
    assert not list(cards.named_places(host))
    settings = dataclasses.replace(host.settings, hlml_library="/nowhere/libhlml.so")
    found = only(cards.named_places(dataclasses.replace(host, settings=settings)))
    assert "ACCEL_TUI_HLML_LIBRARY" in str(found.remedy)


# Folders


def test_the_state_folder_is_judged_and_not_touched(host: Host, tmp_path: Path) -> None:
    assert by_id(folders.state_folder(host))["state-folder"].level is PASS
    host.state.chmod(0o755)
    assert by_id(folders.state_folder(host))["state-folder"].level is WARNING
    assert host.state.stat().st_mode & 0o777 == 0o755
    missing = dataclasses.replace(host, state_root=tmp_path / "a" / "b")
    assert by_id(folders.state_folder(missing))["state-folder"].level is PASS
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/tmp"), lambda path: path.write_text("x")])
def test_a_state_folder_that_is_none_is_refused(host: Host, tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "odd")
    odd = dataclasses.replace(host, state_root=tmp_path / "odd")
    assert by_id(folders.state_folder(odd))["state-folder"].level is REFUSAL


def test_an_unsafe_lock_folder_is_refused(host: Host, tmp_path: Path) -> None:
    def found(folder: Path) -> Check:
        settings = dataclasses.replace(host.settings, lock_dir=str(folder))
        return only(folders.lock_folder(dataclasses.replace(host, settings=settings)))

    (tmp_path / "locks").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "locks")
    assert found(tmp_path / "locks").level is PASS
    assert found(tmp_path / "missing").level is PASS
    assert found(tmp_path / "link").level is REFUSAL


def test_damaged_records_are_named(host: Host) -> None:
    assert only(folders.run_records(host)).message == "0 runs, none damaged"
    write_tree(host.state / "runs", {"20260101-000000-aaaa/spec.json": "{", "20260101-000000-aaaa/state.json": "no"})
    found = only(folders.run_records(host))
    assert found.level is WARNING
    assert "20260101-000000-aaaa" in found.message


def test_too_little_space_is_a_refusal(host: Host) -> None:
    settings = dataclasses.replace(host.settings, minimum_free_bytes=1 << 60)
    assert only(folders.free_space(dataclasses.replace(host, settings=settings))).level is REFUSAL
    settings = dataclasses.replace(host.settings, minimum_free_bytes=0)
    assert only(folders.free_space(dataclasses.replace(host, settings=settings))).level is PASS


# Supervisor


@pytest.fixture
def answering(host: Host) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Start a stand-in supervisor that says what it is given."""
    servers: list[socketserver.UnixStreamServer] = []

    def start(hello: Mapping[str, Any]) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(hello).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        (host.state / "supervisor.sock").unlink(missing_ok=True)
        server = socketserver.UnixStreamServer(str(host.state / "supervisor.sock"), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("version", "protocol", "level"),
    [
        (VERSION, list(PROTOCOL), PASS),
        ("99.0.0", list(PROTOCOL), WARNING),
        ("99.0.0", [PROTOCOL[0] + 1, 0], REFUSAL),
        (VERSION, "nonsense", REFUSAL),
    ],
)
def test_a_supervisor_that_answers_is_told_by_version(
    host: Host,
    answering: Callable[[Mapping[str, Any]], None],
    version: str,
    protocol: object,
    level: CheckLevel,
) -> None:
    answering({"version": version, "protocol": protocol, "pid": 1, "running": 0})
    assert only(supervisor.reachable(host)).level is level


def test_the_last_words_of_one_that_could_not_start_are_told_without_secrets(host: Host) -> None:
    assert only(supervisor.reachable(host)).level is PASS
    (host.state / "supervisor.log").write_text("fine\nOSError: no space, API_TOKEN=hunter2hunter2\x1b[2J\n\n")
    found = only(supervisor.reachable(host))
    assert found.level is WARNING
    assert "no space" in found.message
    assert "hunter2" not in found.message
    assert "\x1b" not in found.message


# Processes


@pytest.mark.parametrize(
    ("cgroup", "answer", "level"),
    [
        ("0::/user.slice/user-1000.slice/session-4.scope\n", "KillUserProcesses=yes", WARNING),
        ("0::/user.slice/user-1000.slice/session-4.scope\n", "KillUserProcesses=no", PASS),
        ("0::/user.slice/user-1000.slice/session-4.scope\n", "", UNKNOWN),
        ("0::/system.slice/cron.service\n", "KillUserProcesses=yes", PASS),
    ],
)
def test_logout_safety(host: Host, tmp_path: Path, cgroup: str, answer: str, level: CheckLevel) -> None:
    write_tree(Path(host.settings.proc_root), {"self/cgroup": cgroup})
    program = tmp_path / "bin" / "loginctl"
    write_tree(tmp_path, {"bin/loginctl": f"#!/bin/sh\necho '{answer}'\n"})
    program.chmod(0o755)
    found = only(process.logout(dataclasses.replace(host, environment={"PATH": str(program.parent)})))
    assert found.level is level
    if level is not PASS:
        assert "loginctl enable-linger" in str(found.remedy)


def test_an_allocation_is_told(host: Host) -> None:
    inside = dataclasses.replace(host, environment={"SLURM_JOB_ID": "7"})
    assert "Slurm" in only(process.allocation(inside)).message


def test_a_clock_that_went_back_is_told(host: Host) -> None:
    assert only(process.clock(host)).level is PASS
    run = host.state / "runs" / "20260101-000000-aaaa"
    run.mkdir(parents=True)
    os.utime(run, (4e9, 4e9))
    assert only(process.clock(host)).level is WARNING


# Terminal


@pytest.mark.parametrize(
    ("environment", "level"),
    [({"LANG": "de_DE.UTF-8"}, PASS), ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, WARNING), ({}, WARNING)],
)
def test_the_locale_decides_on_symbols(host: Host, environment: dict[str, str], level: CheckLevel) -> None:
    found = by_id(terminal.look(dataclasses.replace(host, environment=environment)))
    assert found["terminal-text"].level is level


def test_tmux_is_told_what_the_clipboard_needs(host: Host) -> None:
    found = by_id(terminal.look(dataclasses.replace(host, environment={"TMUX": "/tmp/t,1,0"})))
    assert "set-clipboard" in found["terminal-tmux"].message


# Torch stack


def stand_in(folder: Path, packages: Mapping[str, str | None]) -> str:
    """A program that answers as an interpreter does when it is asked for its facts."""
    document = json.dumps({"schema": 1, "python": "3.12.1", "executable": "x", "packages": packages})
    python = folder / "python"
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{document}\nEND\n")
    python.chmod(0o755)
    return str(python)


@pytest.mark.parametrize(
    ("packages", "level", "words"),
    [
        ({"torch": "2.9.0", "transformers": "4.55.0", "accelerate": "1.5"}, PASS, "torch 2.9.0"),
        ({"torch": "2.9.0+xpu"}, WARNING, "keep it"),
        ({"torch": "2.7.1", "habana-torch-plugin": "1.23"}, WARNING, "torch for Gaudi; keep it"),
        ({}, WARNING, "lacks torch, transformers, accelerate"),
    ],
)
def test_what_the_jobs_interpreter_lacks(
    host: Host, tmp_path: Path, packages: dict[str, str | None], level: CheckLevel, words: str
) -> None:
    (tmp_path / "env").mkdir(mode=0o755)
    python = stand_in(tmp_path / "env", packages)
    asked = dataclasses.replace(
        host,
        settings=dataclasses.replace(host.settings, python=python),
        environment={"PATH": os.environ["PATH"]},
    )
    found = only(software.torch_stack(asked))
    assert found.level is level, found
    assert words in found.message
    if level is WARNING:
        assert f"{python} -m pip install" in str(found.remedy)
        installed = str(found.remedy).partition("install ")[2].partition(" (")[0]
        assert ("torch" in installed.split()) == ("torch" not in packages), "a vendor's torch is never replaced"


def test_an_interpreter_that_others_may_write_is_not_executed(host: Host, tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    python = stand_in(tmp_path / "env", {})
    Path(python).chmod(0o777)
    asked = dataclasses.replace(host, settings=dataclasses.replace(host.settings, python=python))
    found = only(software.torch_stack(asked))
    assert found.level is UNKNOWN
    assert "others may write" in found.message


# The report


def test_the_report_holds_no_secret(host: Host, tmp_path: Path) -> None:
    secrets = {
        "HF_TOKEN": "plainlookingvalue",
        "DB": "postgres://me:pa55word@db/x",
    }
    (host.state / "supervisor.log").write_text(
        "started with plainlookingvalue\n"
        "cloning https://me:otherpass@git.example/x\n"
        'MY_API_KEY=\'quoted value\' and "password": "inside json"\n'
        "token hf_abcdefghijklmnopqrstuvwxyz0123\n"
        "harmless words stay\n"
    )
    checks = (Check("x", WARNING, "saw pa55word in postgres://me:pa55word@db/x"),)
    path = doctor.write_bundle(
        tmp_path / "report.tar.gz", checks, settings=host.settings, state=host.state, environment=secrets
    )
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        texts = {name: file.read().decode() for name, file in files.items() if file is not None}
    everything = "\n".join(texts.values())
    hidden = ("plainlookingvalue", "otherpass", "quoted value", "inside json", "hf_abcdefghij", "me:pa55word")
    assert [secret for secret in hidden if secret in everything] == []
    assert "harmless words stay" in texts["accel-tui-report/supervisor.log"]
    assert json.loads(texts["accel-tui-report/checks.json"])["checks"][0]["id"] == "x"
    assert json.loads(texts["accel-tui-report/environment-names.json"]) == ["DB", "HF_TOKEN"]
    assert json.loads(texts["accel-tui-report/versions.json"])["accel_tui"] == VERSION


def test_a_report_that_cannot_be_written_says_where(host: Host, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="missing"):
        doctor.write_bundle(tmp_path / "missing" / "r.tar.gz", (), settings=host.settings, state=host.state)


def test_a_broken_table_of_known_failures_is_named(host: Host, tmp_path: Path) -> None:
    configured = dataclasses.replace(host, settings=dataclasses.replace(host.settings, config_dir=str(tmp_path / "c")))
    assert only(software.failure_tables(configured)).level is PASS
    table = '[[failure]]\nid = "own"\nany = "abc"\nsummary = "x"\nnext_step = "y"\n'
    write_tree(tmp_path / "c" / "failures", {"own.toml": table})
    assert "1 of them from" in only(software.failure_tables(configured)).message
    write_tree(tmp_path / "c" / "failures", {"own.toml": table + "why = 1\n"})
    told = only(software.failure_tables(configured))
    assert told.level is WARNING
    assert "own.toml: failure own: why: unknown" in told.message
