"""What is said of a logout, and the start at boot; against recorded answers of stand-in programs, no real systemd."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from accel_tui.executors import unit
from accel_tui.executors.logout import Fate, survival
from support.command_line import CommandLine
from support.schemas import check
from support.trees import write_tree

SESSION = "0::/user.slice/user-1000.slice/session-4.scope\n"
MANAGER = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-tmux.scope\n"
OLD = "".join(f"{group}:/user.slice/user-1000.slice/session-c2.scope\n" for group in ("12:pids", "1:name=systemd"))


def program(folder: Path, name: str, answer: str, code: int = 0) -> None:
    """A program that writes down how it is called, and answers."""
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    lines = (
        "#!/bin/sh",
        f'echo "$@" >>{folder}/{name}.calls',
        f"echo '{answer}'",
        f"echo '{answer}' >&2",
        f"exit {code}",
    )
    place.write_text("\n".join(lines) + "\n")
    place.chmod(0o755)


@pytest.mark.parametrize(
    ("cgroup", "kills", "linger", "managed", "fate"),
    [
        (SESSION, "KillUserProcesses=yes", False, False, Fate.END),
        (SESSION, "KillUserProcesses=no", False, False, Fate.SURVIVE),
        (SESSION, "no such thing", False, False, Fate.UNKNOWN),
        (SESSION, None, False, False, Fate.UNKNOWN),
        (SESSION, "KillUserProcesses=yes", True, True, Fate.SURVIVE),
        (SESSION, "KillUserProcesses=yes", True, False, Fate.END),  # started plainly, before the user lingered
        (OLD, "KillUserProcesses=yes", False, False, Fate.END),
        (MANAGER, "KillUserProcesses=no", False, False, Fate.END),  # the manager itself ends, whatever logind is told
        (MANAGER, "KillUserProcesses=no", True, False, Fate.SURVIVE),
        ("0::/system.slice/cron.service\n", "KillUserProcesses=yes", False, False, Fate.SURVIVE),
        ("0::/\n", "KillUserProcesses=yes", False, False, Fate.SURVIVE),
    ],
)
def test_the_fate_of_runs_at_logout(
    tmp_path: Path, cgroup: str, kills: str | None, linger: bool, managed: bool, fate: Fate
) -> None:
    write_tree(tmp_path / "proc", {"self/cgroup": cgroup})
    folder = tmp_path / "linger"
    folder.mkdir()
    if linger:
        (folder / "ana").touch()
    if kills is not None:
        program(tmp_path / "bin", "loginctl", kills)
    found = survival(
        {"PATH": str(tmp_path / "bin") + ":/bin:/usr/bin" if kills is not None else ""},
        managed=managed, proc_root=str(tmp_path / "proc"), linger_folder=folder, user="ana",
    )  # fmt: skip
    assert found.fate is fate, found
    assert (found.remedy is None) == (fate is Fate.SURVIVE)
    assert fate is Fate.SURVIVE or "enable-linger" in str(found.remedy)


def test_whoever_queues_a_run_is_told_what_a_logout_does(cli: CommandLine, tmp_path: Path) -> None:
    program(tmp_path / "bin", "loginctl", "KillUserProcesses=yes")
    write_tree(tmp_path / "proc", {"self/cgroup": SESSION})
    told = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "ACCEL_TUI_PROC_ROOT": str(tmp_path / "proc")}
    answer = cli("run", "--devices", "none", "--wait", "--", "true", environment=told).expect(0)
    assert "at your last logout" in answer.err
    assert "loginctl enable-linger" in answer.err
    queued = cli("run", "--devices", "none", "--json", "--", "true").expect(0).json()
    check("submitted", queued)
    assert "logout" in [warning["code"] for warning in queued["warnings"]]
    status = cli("supervisor", "status", "--json").expect(0).json()
    check("supervisor-status", status)
    assert status["logout"]["fate"] == "end"
    assert "enable-linger" in cli("supervisor", "status").expect(0).out


def test_a_supervisor_at_boot(cli: CommandLine, tmp_path: Path) -> None:
    place = Path(os.environ["XDG_CONFIG_HOME"], "systemd/user/accel-tui.service")
    without = {"PATH": str(tmp_path)}
    cli("supervisor", "enable", environment=without).expect(8)
    assert not place.exists()
    program(tmp_path / "bin", "systemctl", "Failed to connect to bus", code=1)
    found = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    refused = cli("supervisor", "enable", "--json", environment=found).expect(8).json()
    assert "Failed to connect to bus" in refused["error"]["message"]
    assert not place.exists(), "what nobody starts is not left lying about"
    program(tmp_path / "bin", "systemctl", "")
    secret = {"ACCEL_TUI_API_TOKEN": "planted-secret", "ACCEL_TUI_LOCK_DIR": '/a "b" %c $d'}
    done = cli("supervisor", "enable", environment={**found, **secret}).expect(0)
    assert "enable-linger" in done.err
    text = place.read_text()
    assert "planted-secret" not in text
    assert 'Environment="ACCEL_TUI_LOCK_DIR=/a \\"b\\" %%c $d"' in text
    assert "KillMode=process" in text
    assert os.environ["ACCEL_TUI_STATE_DIR"] in text
    calls = (tmp_path / "bin/systemctl.calls").read_text().splitlines()
    assert calls[-2:] == ["--user daemon-reload", "--user enable accel-tui.service"]
    assert json.loads(cli("supervisor", "disable", "--json", environment=found).expect(0).out)["enabled"] is False
    assert not place.exists()
    cli("supervisor", "disable", environment=found).expect(0)
    cli("--demo", "gaudi3", "supervisor", "enable", environment=found).expect(8)


def test_a_dollar_of_a_path_is_no_variable_of_the_unit() -> None:
    text = unit.text("/a$b", {})
    assert '"/a$$b"' in next(line for line in text.splitlines() if line.startswith("ExecStart="))
