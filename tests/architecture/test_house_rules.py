"""Rules of the house that no linter knows: the map and the code agree, files stay small, the repository stays clean."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.world import SOURCE

ROOT = SOURCE.parent
PACKAGE = SOURCE / "accel_tui"
MOST_LINES = 450
MODULES = sorted(SOURCE.rglob("*.py"))
MAP = re.compile(r"^\| `(\w+)` \| (.+?) \|$", re.MULTILINE)

# Put together here, so that this file may hold what no other may.
NEVER = [
    "/" + "work/", "/opt/" + "envs", "/root/" + ".pyenv", "anth" + "ropic", "clau" + "de", "chat" + "gpt",
    "co-auth" + "ored-by", "as an ai" + " ", "tod" + "o:", "fix" + "me",
]  # fmt: skip


def tracked() -> Iterator[Path]:
    """Files that belong to the repository; without git (an unpacked archive) all below the known folders."""
    try:
        argv = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for top in ("src", "tests", "docs") for path in (ROOT / top).rglob("*.*")]
    yield from (ROOT / name for name in names if name and (ROOT / name).is_file())


def first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return docstring.split("\n\n")[0].replace("\n", " ")


def packages() -> set[str]:
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_the_map_and_the_packages_say_the_same() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    section = page.partition("## Packages")[2].partition("\n## ")[0]
    mapped = dict(MAP.findall(section))
    assert set(mapped) == packages()
    for name, sentence in mapped.items():
        assert first_sentence(PACKAGE / name / "__init__.py") == sentence


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_module_is_small_and_valid_for_the_oldest_python(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MOST_LINES
    ast.parse(text, feature_version=(3, 10))
    if path != PACKAGE / "__init__.py":
        assert first_sentence(path), "a module says in one sentence what it is for"


def test_the_package_itself_is_empty_so_that_every_process_starts_fast() -> None:
    assert (PACKAGE / "__init__.py").read_text().strip() == ""


def test_no_file_names_this_machine_or_its_maker() -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace").lower()
        found += [f"{path.relative_to(ROOT)}: {word}" for word in NEVER if word in text]
    assert found == []


def test_suppressions_name_what_they_suppress() -> None:
    bare = re.compile(r"#\s*type:\s*ignore(?!\[)|#\s*no" + r"qa(?!:)")
    paths = [path for path in tracked() if path.suffix == ".py"]
    found = [str(path.relative_to(ROOT)) for path in paths if bare.search(path.read_text())]
    assert found == []


def test_nothing_is_swallowed_silently() -> None:
    silent = re.compile(r"except (?:Base)?Exception[^\n]*:\s*(?:#[^\n]*)?\n\s*pass\b")
    assert [str(path) for path in MODULES if silent.search(path.read_text())] == []
