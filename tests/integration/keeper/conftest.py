"""Run folders with real keepers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from support.keeping import KeptRun, MakeRun


@pytest.fixture(autouse=True)
def nursery(request: pytest.FixtureRequest) -> bool:
    """Whether keepers come from a nursery."""
    return bool(getattr(request, "param", True))


@pytest.fixture
def make_run(tmp_path: Path, nursery: bool) -> Iterator[MakeRun]:
    """Makes run folders below the test's folder; whatever runs in them is ended after the test."""
    made: list[KeptRun] = []

    def make(
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        ports: Sequence[int] = (),
        root: Path | None = None,
    ) -> KeptRun:
        made.append(KeptRun(root or tmp_path, argv, environment=environment, cwd=cwd, ports=ports, nursery=nursery))
        return made[-1]

    yield make
    for run in made:
        run.clean_up()
