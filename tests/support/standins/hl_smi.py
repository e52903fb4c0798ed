"""A program that behaves like hl-smi in its observed layouts and failures. All values are invented.

The folder STANDIN_HL_SMI holds `behaviour.json`, read anew at every call, and gets a line in `calls` for each:

    mode       "well" (default), "hang" (sleeps for ever and ignores SIGTERM), "fail" (`code`, `out`, `err`)
    delay      seconds before each answer
    cards      list of {field: cell}; the cells without units
    fields     the fields that this build knows; others make the command fail
    out        printed instead of a table
    help       printed for -h
    units      false: no units in the cells, though in the header
    links      {bus_id: text of `-n link`}, ports: text of `-n ports`,
    rows       text of `-q -d ROW_REPLACEMENT`
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

UNITS = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "temperature.aip": "C",
    "utilization.aip": "%",
    "power.draw": "W",
    "power.max": "W",
    "clocks.current.soc": "MHz",
}


def main() -> int:
    folder = Path(os.environ["STANDIN_HL_SMI"])
    with (folder / "calls").open("a") as calls:
        calls.write(
            json.dumps(
                {
                    "argv": sys.argv[1:],
                    "pid": os.getpid(),
                    "logs": os.environ.get("HABANA_LOGS"),
                    "at": time.monotonic(),
                }
            )
            + "\n"
        )
    behaviour = json.loads((folder / "behaviour.json").read_text())
    mode = behaviour.get("mode", "well")
    if mode == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(3600)
    time.sleep(behaviour.get("delay", 0))
    if mode == "fail":
        sys.stdout.write(behaviour.get("out", ""))
        sys.stderr.write(behaviour.get("err", ""))
        return int(behaviour.get("code", 1))
    return answer(sys.argv[1:], behaviour)


def answer(argv: list[str], behaviour: dict[str, Any]) -> int:
    if "-h" in argv:
        print(behaviour.get("help", "usage: hl-smi [-Q FIELDS] [-f csv]"))
        return 0
    if "ports" in argv:
        sys.stdout.write(behaviour.get("ports", ""))
        return 0
    if "-n" in argv:
        sys.stdout.write(behaviour.get("links", {}).get(argv[argv.index("-i") + 1], ""))
        return 0
    if "-d" in argv:
        sys.stdout.write(behaviour.get("rows", ""))
        return 0
    if "out" in behaviour:
        sys.stdout.write(behaviour["out"])
        return int(behaviour.get("code", 0))
    fields = argv[argv.index("-Q") + 1].split(",")
    unknown = [field for field in fields if field not in behaviour.get("fields", fields)]
    if unknown:
        sys.stderr.write(f"Field '{unknown[0]}' is not a valid field to query.\n")
        return 2
    print(", ".join(f"{field} [{UNITS[field]}]" if field in UNITS else field for field in fields))
    for card in behaviour["cards"]:
        print(", ".join(cell(field, str(card.get(field, "N/A")), behaviour) for field in fields))
    return 0


def cell(field: str, text: str, behaviour: dict[str, Any]) -> str:
    number = text.replace(".", "", 1).isdecimal()
    return f"{text} {UNITS[field]}" if field in UNITS and number and behaviour.get("units", True) else text


if __name__ == "__main__":
    sys.exit(main())
