"""One figure of a benchmark: printed, and for `scripts/bench` written as a line of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

VARIABLE = "ACCEL_TUI_BENCH_FIGURES"
"""Names the file that figures are appended to."""


def figure(
    what: str, value: float, unit: str, *, bar: float | None = None, least: bool = False, peer: str = "", more: str = ""
) -> None:
    """`bar` is the most that is good enough, with `least` the least; `peer` what another program needs for the same."""
    print(f"{what:<58} {value:10.3f} {unit}   {more}", flush=True)
    path = os.environ.get(VARIABLE)
    if path:
        entry = {"what": what, "value": value, "unit": unit, "bar": bar, "least": least, "peer": peer}
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
