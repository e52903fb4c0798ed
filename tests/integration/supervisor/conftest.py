"""A site for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.supervising import Site, site


@pytest.fixture
def here(own_world: Path) -> Iterator[Site]:
    """The state folder of the test's world, with a supervisor once somebody asks."""
    with site(own_world / "state") as opened:
        yield opened
