"""Settings: where they come from, which one wins, and how a mistake is told."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accel_tui.config.settings import DECLARATIONS, Settings, load_settings
from accel_tui.model.errors import FileError, UsageError


def load(tmp_path: Path, text: str | None = None, flags: dict[str, Any] | None = None, **variables: str) -> Settings:
    if text is not None:
        (tmp_path / "config.toml").write_text(text)
    environment = {"HOME": "/home/ana", "ACCEL_TUI_CONFIG_DIR": str(tmp_path), **variables}
    return load_settings(flags or {}, environment)


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load(tmp_path) == replace(Settings(), config_dir=str(tmp_path))
    assert load(tmp_path).max_running == 16
    assert load(tmp_path).cpu_slots == 1
    assert load(tmp_path).idle_seconds == 300


def test_flag_over_variable_over_file(tmp_path: Path) -> None:
    text = "[queue]\nmax_running = 2\ncpu_slots = 3\n[supervisor]\nidle_seconds = 7\n"
    settings = load(
        tmp_path, text, {"max_running": 4, "python": None}, ACCEL_TUI_CPU_SLOTS="5", ACCEL_TUI_MAX_RUNNING="9"
    )
    assert (settings.max_running, settings.cpu_slots, settings.idle_seconds) == (4, 5, 7.0)


def test_every_declared_setting_can_be_set_in_the_file_and_by_its_variable(tmp_path: Path) -> None:
    for declaration in DECLARATIONS:
        value: Any = declaration.choices[-1] if declaration.choices else "/some/where"
        if declaration.kind is not str:
            value = declaration.kind(7)
        head = f"[{declaration.table}]\n" if declaration.table else ""
        written = f'"{value}"' if isinstance(value, str) else str(value)
        from_file = load(tmp_path, f"{head}{declaration.name} = {written}\n")
        from_variable = load(tmp_path, "", None, **{declaration.variable: str(value)})
        assert getattr(from_file, declaration.name) == value
        assert from_variable == from_file
        assert declaration.help


def test_paths_know_the_home_and_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load(tmp_path, 'state_dir = "~/state"\nhl_smi = "hl-smi"\nlock_dir = "./locks"\n')
    assert settings.state_dir == "/home/ana/state"
    assert settings.hl_smi == "hl-smi"
    assert settings.lock_dir == str(tmp_path / "locks")


def test_relative_xdg_folder_is_ignored_as_its_specification_says() -> None:
    assert load_settings({}, {"HOME": "/home/ana", "XDG_CONFIG_HOME": "x"}).config_dir == "/home/ana/.config/accel-tui"
    assert load_settings({}, {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}).config_dir == "/x/accel-tui"


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("max_runing = 3\n", "max_runing: unknown setting", "queue.max_running"),
        ("max_running = 3\n", "max_running: unknown setting", "queue.max_running"),
        ("[queue]\ncpu_slot = 3\n", "queue.cpu_slot: unknown setting", "queue.cpu_slots"),
        ("[qeue]\ncpu_slots = 3\n", "qeue: unknown setting", "queue"),
        ("zzz = 3\n", "zzz: unknown setting", "known settings"),
        ("config_dir = '/x'\n", "config_dir: unknown setting", ""),
        ("queue = 3\n", "queue: a table is expected", "[queue]"),
        ("[queue]\nmax_running = '3'\n", "queue.max_running: a whole number is expected, not '3'", ""),
        ("[queue]\nmax_running = true\n", "queue.max_running: a whole number is expected, not True", ""),
        ("[queue]\nmax_running = 1.5\n", "a whole number is expected", ""),
        ("[queue]\nmax_running = 0\n", "0 is too small", "1"),
        ("[queue]\nmax_running = 99999\n", "too large", "10000"),
        ("[stop]\ngrace_seconds = nan\n", "stop.grace_seconds: a number is expected", ""),
        ("python = 3\n", "python: a text in quotes is expected", ""),
        ("python = ''\n", "python: a path is expected", ""),
        ("gaudi_source = 'hlmi'\n", "gaudi_source: 'hlmi' is none of auto, hlml", ""),
        ("a = \n", "line 1", ""),
        ("a = 'é", "not valid TOML", ""),
    ],
)
def test_mistake_in_the_file_names_file_field_and_remedy(tmp_path: Path, text: str, said: str, remedy: str) -> None:
    with pytest.raises(FileError) as caught:
        load(tmp_path, text)
    assert str(tmp_path / "config.toml") in caught.value.message
    assert said in caught.value.message
    assert remedy in (caught.value.remedy or "")
    assert caught.value.remedy


def test_mistake_in_a_variable_or_flag_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ACCEL_TUI_IDLE_SECONDS: a number is expected, not 'soon'"):
        load(tmp_path, None, None, ACCEL_TUI_IDLE_SECONDS="soon")
    with pytest.raises(UsageError, match="--max-running: -1 is too small"):
        load(tmp_path, None, {"max_running": "-1"})


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = 1\nb = '\xff'\n", b"[" * 5000, b"#" * 5_000_000])
def test_file_that_is_no_toml_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(data)
    with pytest.raises(FileError, match=r"config\.toml: "):
        load(tmp_path)


def test_folder_or_dangling_link_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "gone")
    with pytest.raises(FileError, match="there is no such file"):
        load(tmp_path)
    (tmp_path / "config.toml").unlink()
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(FileError, match="cannot be read"):
        load(tmp_path)


def test_settings_are_read_without_heavy_modules() -> None:
    code = (
        "import sys, accel_tui.config.settings, accel_tui.config.state, accel_tui.config.shipped; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pydantic", "tomllib", "tomli", "textual", "difflib", "platformdirs"} & set(done.stdout.split())
