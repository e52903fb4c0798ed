"""What end-to-end tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.command_line import CommandLine


@pytest.fixture
def cli(own_world: object) -> Iterator[CommandLine]:
    """The command line in the world of this test; at the end its runs and its supervisor are ended."""
    line = CommandLine()
    yield line
    line.close()
