"""A job from an argument list: what it is called."""

from __future__ import annotations

import pytest

from accel_tui.jobs.adhoc import command_job


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["python", "train.py", "--epochs", "3"], "train.py"),
        (["/opt/env/bin/python3.12", "-u", "src/train.py"], "train.py"),
        (["python", "-m", "pytest", "x.py"], "pytest"),
        (["python", "-c", "print(1)"], "python"),
        (["python"], "python"),
        (["python", "-m"], "python"),
        (["bash", "run.sh"], "run.sh"),
        (["sh", "-c", "sleep 1; echo x.py"], "sh"),
        (["sleep", "a.py"], "sleep"),
        (["train.py"], "train.py"),
    ],
)
def test_a_run_is_called_like_what_runs(argv: list[str], name: str) -> None:
    assert command_job(argv).name == name
    assert command_job(argv, name="mine").name == "mine"
