"""The state folder: made, closed, and refused where it cannot be trusted."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from accel_tui.config.settings import Settings
from accel_tui.config.state import demo_folder, open_state_folder, state_folder
from accel_tui.model.devices import Problem
from accel_tui.model.errors import StateFolderError

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")


def test_it_is_per_host_below_the_xdg_folder() -> None:
    assert state_folder(Settings(), "gaudi-07", {"XDG_STATE_HOME": "/s"}) == Path("/s/accel-tui/gaudi-07")
    assert state_folder(Settings(), "a/../b", {"HOME": "/h"}) == Path("/h/.local/state/accel-tui/a_.._b")
    assert state_folder(Settings(), "..", {"HOME": "/h"}).name == "localhost"
    assert state_folder(Settings(state_dir="/elsewhere"), "gaudi-07", {}) == Path("/elsewhere")
    assert demo_folder(Path("/s"), "mixed") == Path("/s/demo/mixed")


def test_it_is_made_closed(tmp_path: Path) -> None:
    folder = open_state_folder(tmp_path / "a" / "b" / "state")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []
    problems: list[Problem] = []
    assert open_state_folder(folder, problems) == folder
    assert problems == []


def test_open_folder_of_ours_is_closed_and_said(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o755)
    problems: list[Problem] = []
    open_state_folder(folder, problems)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [problem.code for problem in problems] == ["state-folder-was-open"]
    assert "0755" in problems[0].message


def test_path_of_200_characters_works(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 99) / ("y" * 99) / "state"
    assert open_state_folder(folder) == folder


def test_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "real")
    with pytest.raises(StateFolderError, match="symbolic link") as caught:
        open_state_folder(tmp_path / "state")
    assert "ACCEL_TUI_STATE_DIR" in (caught.value.remedy or "")


def test_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StateFolderError, match="not a folder"):
        open_state_folder(tmp_path / "state")
    with pytest.raises(StateFolderError, match="cannot be used"):
        open_state_folder(tmp_path / "state" / "below")


def test_place_where_nothing_can_be_made_is_refused() -> None:
    with pytest.raises(StateFolderError, match="cannot be used"):
        open_state_folder(Path("/proc/accel-tui-state"))


@AS_ROOT
def test_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)
    with pytest.raises(StateFolderError, match="belongs to user 12345"):
        open_state_folder(folder)


def test_file_system_whose_locks_do_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pretend(descriptor: int, operation: int) -> None:
        """What some network file systems do: say yes to everybody."""

    monkeypatch.setattr(fcntl, "flock", pretend)
    with pytest.raises(StateFolderError, match="locks have no effect"):
        open_state_folder(tmp_path / "state")
    assert list((tmp_path / "state").iterdir()) == []
