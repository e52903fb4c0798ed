"""`worker.pyz`, `facts` and the tiny model as others call them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from accel_tui_worker import archive
from accel_tui_worker.facts import PACKAGES
from support import world

PACKAGE = world.SOURCE / "accel_tui_worker"


@pytest.fixture
def pyz(tmp_path: Path) -> Path:
    path = tmp_path / "a path with spaces" / "worker.pyz"
    path.parent.mkdir()
    path.write_bytes(archive.build())
    return path


def _run(argv: list[Any], **environment: str) -> str:
    merged = {**os.environ, **environment}
    return subprocess.run([str(part) for part in argv], env=merged, capture_output=True, text=True, check=True).stdout


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    copy = tmp_path / "accel_tui_worker"
    shutil.copytree(PACKAGE, copy)
    for source in copy.glob("*.py"):
        os.utime(source, (0, 0))
    program = "import sys; from accel_tui_worker.archive import build; sys.stdout.buffer.write(build())"
    other = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert other.stdout == archive.build()


def test_the_archive_holds_the_sources_and_nothing_else(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as opened:
        names = set(opened.namelist())
        assert opened.testzip() is None
    assert names == {"__main__.py"} | {f"accel_tui_worker/{source.name}" for source in PACKAGE.glob("*.py")}


def test_the_archive_is_built_with_the_standard_library_alone() -> None:
    program = "import sys; import accel_tui_worker.archive as a; a.build(); print(*sys.modules)"
    loaded = _run([sys.executable, "-c", program]).split()
    assert not {"torch", "transformers", "accelerate", "accel_tui", "numpy"} & set(loaded)


@pytest.mark.parametrize("form", ["file", "path"])
def test_facts_answer_from_the_archive_without_torch(pyz: Path, form: str) -> None:
    argv = [sys.executable, "-X", "importtime", pyz] if form == "file" else [sys.executable, "-m", "accel_tui_worker"]
    environment = {**os.environ, "PYTHONPATH": "" if form == "file" else str(pyz)}
    done = subprocess.run([*map(str, argv), "facts"], env=environment, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert set(document) == {"schema", "python", "executable", "packages", "kernels_range"}
    assert set(document["packages"]) == set(PACKAGES)
    assert document["executable"] == sys.executable
    assert not [
        line for line in done.stderr.splitlines() if line.rpartition("|")[2].strip() in ("torch", "transformers")
    ]


@pytest.mark.torch
def test_deep_facts_count_devices_and_name_back_ends(torch_python: str) -> None:
    document = json.loads(_run([torch_python, "-m", "accel_tui_worker", "facts", "--deep"]))
    assert document["devices"]["cpu"] == 1
    assert isinstance(document["devices"]["xpu"], int)
    assert document["backends"]["gloo"] is True
    assert document["backends"]["hccl"] is False
    assert document["packages"]["torch"]
    assert document["errors"] == {}


@pytest.mark.torch
def test_a_complete_tiny_model_is_left_alone(torch_python: str, tiny_model: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tiny_model.iterdir()}
    assert "is complete" in _run([torch_python, "-m", "accel_tui_worker", "tiny-model", tiny_model])
    assert {path: path.stat().st_mtime_ns for path in tiny_model.iterdir()} == before


@pytest.mark.torch
@pytest.mark.slow
def test_an_incomplete_tiny_model_is_made_again_and_is_the_same(
    torch_python: str, tiny_model: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "tiny"
    shutil.copytree(tiny_model, copy)
    (copy / "model.safetensors").unlink()
    assert "is ready" in _run([torch_python, "-m", "accel_tui_worker", "tiny-model", copy])
    for file in sorted(tiny_model.iterdir()):
        assert (copy / file.name).read_bytes() == file.read_bytes(), file.name
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    argv = [sys.executable, "-m", "accel_tui_worker", "tiny-model", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "is not a tiny model" in done.stderr
    assert (tmp_path / "thesis.tex").exists()
