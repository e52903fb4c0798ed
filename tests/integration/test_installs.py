"""A wheel and an editable install both have the shipped themes and sessions, and the command."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from support.world import SOURCE

ROOT = SOURCE.parent
SHOW = "from accel_tui.config.shipped import shipped_folder as f; print(f('themes')); print(f('sessions'))"


def run(argv: list[str], cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shipped(python: Path, cwd: Path) -> list[Path]:
    return [Path(line) for line in run([str(python), "-I", "-c", SHOW], cwd).splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_wheel_and_editable_install_have_what_is_shipped(tmp_path: Path) -> None:
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)], tmp_path)
    (wheel,) = tmp_path.glob("accel_tui-*.whl")
    tables = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.toml")}
    assert "accel_tui/vendors/gaudi/failures.toml" in tables
    assert tables <= set(zipfile.ZipFile(wheel).namelist())
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    for what in ([str(wheel)], ["-e", str(ROOT)]):
        run([str(python), "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", *what], tmp_path)
        themes, sessions = shipped(python, tmp_path)
        assert {path.name for path in themes.glob("*.toml")} == {path.name for path in (ROOT / "themes").glob("*.toml")}
        assert {path.name for path in sessions.iterdir()} == {path.name for path in (ROOT / "sessions").iterdir()}
        assert (tmp_path in themes.parents) == (what[0] != "-e")
        assert (tmp_path / "venv/bin/accel-tui").exists()
