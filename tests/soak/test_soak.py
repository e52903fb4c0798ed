"""Two minutes of the soak; half an hour of it is `python tests/soak/soak.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_minutes_of_everything_at_once(own_world: Path) -> None:
    found = importlib.util.spec_from_file_location("soak", Path(__file__).with_name("soak.py"))
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    import sys

    sys.modules["soak"] = module  # its data classes look themselves up there
    found.loader.exec_module(module)
    faults, done = module.soak(own_world, 120, 20261130)
    assert not faults, "\n".join(faults) + f"\n{done}"
    assert done["submit"] > 20
