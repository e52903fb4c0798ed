"""The exception that ended a program, in what programs and launchers really write."""

from __future__ import annotations

import pytest

from accel_tui.diagnosis.traces import Raised, final_exception

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 2, in <module>\n    main()\n'
LAUNCHER = (
    "Traceback (most recent call last):\n"
    '  File "run.py", line 919, in main\n'
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "=====\ntrain.py FAILED\n"
)


def of_rank(rank: int, text: str, prefix: str = "[rank{0}]:[rank{0}]: ") -> str:
    return "".join(prefix.format(rank) + line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("done\n", None),
        ("Traceback (most recent call last):\n  File", None),
        (TRACE + "ValueError: it is negative\nsecond line\n", Raised("ValueError", "it is negative")),
        (TRACE + "ModuleNotFoundError: No 'yaml'\n", Raised("ModuleNotFoundError", "No 'yaml'")),
        (TRACE + "KeyboardInterrupt\n", Raised("KeyboardInterrupt", "")),
        (TRACE + "pkg.errors.OwnError: x\r\n", Raised("OwnError", "x")),
        (
            TRACE + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + TRACE
            + "RuntimeError: b\n",
            Raised("RuntimeError", "b"),
        ),
        (of_rank(1, TRACE + "ValueError: root\n") + of_rank(0, TRACE + "RuntimeError: closed by peer\n") + LAUNCHER,
         Raised("ValueError", "root", 1)),
        (of_rank(1, TRACE + "ValueError: root\n", "[default{0}]:") + LAUNCHER, Raised("ValueError", "root", 1)),
        (LAUNCHER, None),
        (TRACE + "ValueError: was handled\n" + "step\n" * 100, None),
    ],
)  # fmt: skip
def test_what_ended_it(text: str, found: Raised | None) -> None:
    assert final_exception(text) == found
