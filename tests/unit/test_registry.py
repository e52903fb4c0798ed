"""Sources of other distributions: listed without being imported, and a broken one costs nothing but a problem."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accel_tui.devices import registry
from accel_tui.devices.survey import survey
from accel_tui.model.errors import UsageError
from accel_tui.model.places import Places
from support.sources import STANDINS
from support.trees import write_tree


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the module path that holds a distribution with entry points, and the stand-in sources."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "standin_sources.py").symlink_to(STANDINS / "standin_sources.py")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def declare(site: Path, *lines: str) -> None:
    entry_points = "\n".join([f"[{registry.GROUP}]", *lines, ""])
    metadata = "Metadata-Version: 2.1\nName: outside\nVersion: 1\n"
    write_tree(site, {"outside-1.dist-info/entry_points.txt": entry_points, "outside-1.dist-info/METADATA": metadata})


def test_built_in_sources_are_listed_by_path_alone() -> None:
    entries, problems = registry.sources(Places())
    assert "cpu.proc" in [entry.label for entry in entries]
    assert problems == ()
    assert all(entry.gives <= registry.GIVES for entry in entries)


def test_an_outside_source_is_listed_without_import_and_works(distribution: Path) -> None:
    declare(distribution, "test.outside = standin_sources:well [inventory,readings]")
    entries, problems = registry.sources(Places())
    outside = next(entry for entry in entries if entry.label == "test.outside")
    assert (outside.module, outside.attribute) == ("standin_sources", "well")
    assert outside.gives == {"inventory", "readings"}
    assert problems == ()
    assert "standin_sources" not in sys.modules
    inventory = survey(object(), entries=[outside], seconds=20)
    assert [view.device.key for view in inventory.devices] == ["pci:0000:01:00.0"]


@pytest.mark.parametrize(
    "line",
    [
        "no-dot = standin_sources:well",
        "test.x = standin_sources:well [telepathy]",
        "cpu.proc = standin_sources:well",
        "test.y = not a module!",
    ],
)
def test_what_cannot_be_registered_is_told_and_skipped(distribution: Path, line: str) -> None:
    declare(distribution, line, "test.good = standin_sources:well")
    entries, problems = registry.sources(Places())
    built_in = [entry.label for entry in registry.BUILT_IN]
    assert [entry.label for entry in entries] == [*built_in, "test.good"]
    assert [problem.code for problem in problems] == ["source-broken"]
    assert line.partition(" ")[0] in problems[0].message


def test_a_source_that_cannot_be_imported_is_told_and_skipped(distribution: Path) -> None:
    declare(distribution, "test.gone = no_such_module_at_all")
    entries, _ = registry.sources(Places())
    inventory = survey(object(), entries=entries, seconds=20)
    assert [view.device.key for view in inventory.devices] == ["cpu"]
    assert [problem.code for problem in inventory.problems] == ["source-broken"]
    assert "ModuleNotFoundError" in inventory.problems[0].message


def test_a_demonstration_stands_alone() -> None:
    entries, problems = registry.sources(Places(demo="b60x4"))
    assert (entries, problems) == ((registry.DEMO,), ())
    with pytest.raises(UsageError):
        registry.sources(Places(demo="nope"))
