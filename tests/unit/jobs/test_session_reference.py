"""The reference page of session files, and the worked example of the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from accel_tui.jobs import kinds
from accel_tui.jobs.session import load_session
from support.world import SOURCE

ROOT = SOURCE.parent


def test_the_reference_page_is_what_the_declarations_say() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "scripts/session-reference")], capture_output=True, text=True, check=True
    )
    page = (ROOT / "docs/sessions.md").read_text("utf-8")
    assert page == made.stdout, "run: scripts/session-reference > docs/sessions.md"


def test_the_example_of_the_readme_is_valid_and_has_every_table(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (example,) = (text for text in re.findall(r"```toml\n(.*?)```", readme, re.DOTALL) if "[[job]]" in text)
    file = tmp_path / "mine.toml"
    file.write_text(example, "utf-8")
    session = load_session(file)
    assert {job.kind for job in session.jobs} == set(kinds.names())
    page = (ROOT / "docs/sessions.md").read_text("utf-8")
    tables = set(re.findall(r"^#+ `(\[\[?[a-z.]+\]\]?)`", page, re.MULTILINE))
    missing = {table for table in tables if f"\n{table}" not in f"\n{example}"}
    assert not missing
