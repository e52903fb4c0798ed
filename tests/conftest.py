"""Tiers, a world of its own for every test, and the torch stack that tests may use."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import gaudi, world, xpu_host

LEFT_OUT: pytest.StashKey[Counter[str]] = pytest.StashKey()
NO_TORCH = "no torch stack: name an interpreter that has it in ACCEL_TUI_TEST_PYTHON"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow tests out of the default tier, and count them for the summary."""
    left_out = config.stash.setdefault(LEFT_OUT, Counter())
    if config.getoption("--all"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if not slow or len(slow) == len(items) == 1:  # a single test that was named is meant
        return
    for item in slow:
        left_out[str(item.path.relative_to(config.rootpath))] += 1
    items[:] = [item for item in items if item not in slow]
    config.hook.pytest_deselected(items=slow)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Several processes share the tests: each tells the one that reports what it left out."""
    output = getattr(session.config, "workeroutput", None)
    left_out = session.config.stash.get(LEFT_OUT, None)
    if output is not None and left_out is not None:
        output["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process left out; all collect the same tests, so one word is as good as another."""
    told = getattr(node, "workeroutput", {}).get("left_out")
    if told is not None:
        node.config.stash[LEFT_OUT] = Counter(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out and why; skipped tests give their reasons in pytest's own summary."""
    left_out = config.stash.get(LEFT_OUT, Counter())
    terminalreporter.section("left out")
    if left_out:
        terminalreporter.write_line(f"{left_out.total()} slow tests, which --all runs:")
        for path, count in sorted(left_out.items()):
            terminalreporter.write_line(f"  {path}: {count}")
    skipped = len(terminalreporter.getreports("skipped"))
    if skipped:
        terminalreporter.write_line(f"{skipped} tests skipped, each with its reason in the short summary")
    if not left_out and not skipped:
        terminalreporter.write_line("nothing")


@pytest.fixture(autouse=True)
def own_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Folders of the test's own in place of the developer's; afterwards no process of the test may be left."""
    if request.node.get_closest_marker("torch") and not torch_stack():
        pytest.skip(NO_TORCH)
    folder = tmp_path_factory.mktemp("world")
    tag = uuid.uuid4().hex
    for name in filter(world.leaks, list(os.environ)):
        monkeypatch.delenv(name)
    for name, value in world.variables(folder, tag).items():
        monkeypatch.setenv(name, value)
    (folder / "home").mkdir()
    yield folder
    left = world.end_leftovers(tag)
    assert not left, "processes were left behind:\n" + "\n".join(left)


def torch_stack() -> str | None:
    """The interpreter with the torch stack: the one that is named, else this one when it has torch."""
    named = os.environ.get("ACCEL_TUI_TEST_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("torch") else None


@pytest.fixture(scope="session")
def torch_python() -> str:
    """An interpreter that has torch, transformers and accelerate, for jobs of tests."""
    found = torch_stack()
    if not found:
        pytest.skip(NO_TORCH)
    return found


@pytest.fixture(scope="session")
def tiny_model(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny real model with tokenizer and text, made once; the folder that `tiny-model` of the worker fills."""
    folder = tmp_path_factory.mktemp("tiny") / "model"
    environment = {name: value for name, value in os.environ.items() if not world.leaks(name)}
    environment |= {"PYTHONPATH": str(world.SOURCE), "HF_HUB_OFFLINE": "1"}
    argv = [torch_python, "-m", "accel_tui_worker", "tiny-model", str(folder)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def hlml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in libhlml, compiled once."""
    return gaudi.build_library(tmp_path_factory.mktemp("hlml"))


@pytest.fixture(scope="session")
def sysman_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in for the Level Zero loader, compiled once."""
    if xpu_host.compiler() is None:
        pytest.fail(
            "no C compiler: the tests of the Intel GPU provider build a small library (Debian: apt install gcc)"
        )
    return xpu_host.build_library(tmp_path_factory.mktemp("sysman"))
