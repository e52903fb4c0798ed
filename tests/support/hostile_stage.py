"""The screen with hostile text wherever foreign text can stand; run by itself on a terminal."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from accel_tui.config.settings import load_settings
from accel_tui.model.devices import Holder, Problem, Reading, ReadingStatus, ReservedBy
from accel_tui.model.runs import Diagnosis, RunResult, RunState
from accel_tui.tui.app import AccelApp, Options
from accel_tui.tui.board import Draft
from support import past
from support.fake_client import FakeSupervisor
from support.hostile import PAYLOADS
from support.scene import ZONE, cpu_view, gaudi_views, inventory, run
from support.screening import COLOURS, Clock

MARKUP = "[@click=app.quit]x[/]"
TEXTS = [payload if isinstance(payload, str) else payload.decode("latin-1") for payload, _ in PAYLOADS.values()]


def supervisor() -> FakeSupervisor:
    """Every card, run, problem and notice carries a payload of its own, and all of them the markup."""
    cards = gaudi_views()
    views = []
    for number, view in enumerate(cards):
        text = f"{MARKUP}{TEXTS[number]}"
        device = replace(
            view.device, name=text, serial=text, uuid=text, driver_version=text,
            details={text: text, "status_text": text},
        )  # fmt: skip
        readings = dict(view.readings)
        if number == 1:
            readings["power_watts"] = Reading(ReadingStatus.DENIED, reason=text)
        if number == 2:
            readings["throttle_reasons"] = Reading(ReadingStatus.OK, value=text, source=text)
        claim = ReservedBy(text, text, text) if number == 3 else None
        views.append(
            replace(view, device=device, readings=readings, holders=(Holder(7, text, text),), reserved_by=claim)
        )
    problems = tuple(Problem(None, text, text, text) for text in TEXTS[8:12])
    runs = []
    for number, text in enumerate(TEXTS):
        told = Diagnosis("x", text, text)
        state = RunState.QUEUED if number % 3 == 0 else RunState.FINISHED
        made = run(
            f"20261130-0929{number:02d}-aaaa", f"{MARKUP}{text}", state, kind=text,
            result=None if state is RunState.QUEUED else RunResult.FAILED, diagnosis=told, waiting_for=text,
            devices=(text,), notes=(text,),
        )  # fmt: skip
        runs.append(replace(made, folder=f"/{text}", held=text if number % 2 else None))
    found = inventory(*views, cpu_view(), host=f"{MARKUP}{TEXTS[0]}", problems=problems)
    return FakeSupervisor(found, tuple(runs))


def hostile_log(folder: Path) -> None:
    """Every payload as a line of its own, with and without a rank, and in a frame that was overwritten."""
    lines = [
        payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else payload
        for payload, _ in PAYLOADS.values()
    ]
    with (folder / "log").open("wb") as file:
        for number, line in enumerate(lines):
            file.write(b"[rank%d]: %s\n%s\n%s\rnext frame\n" % (number % 3, line, line, line))
        file.write(f"{MARKUP}\nValueError: {MARKUP}\n".encode())
    (folder / "log.times").write_bytes(b"1 10\n" + b"\n".join(lines))


def draft() -> Draft:
    """A job whose every text is hostile."""
    text = f"{MARKUP}{''.join(TEXTS[:3])}"
    job = {
        "name": "hostile", "kind": "generate",
        "launch": {"cwd": f"/{text}", "python": f"/{text}", "env": {"A": text, text: "b"}, "after": [text]},
        "model": {"path": f"/{text}", "dtype": text, "attn_implementation": TEXTS[5]},
        "generate": {"prompts": TEXTS, "arguments": {text: text, "stop_strings": TEXTS[:4]}},
    }  # fmt: skip
    return Draft(job, "cpu", f"/{text}.toml", f"/{text}", saved={})


def hostile_files(folder: Path) -> None:
    """Sessions, themes and a keymap whose names and contents are hostile, and some that cannot be read as well."""
    for place in ("config/sessions", "config/themes"):
        (folder / place).mkdir(parents=True)
    for number, text in enumerate(TEXTS):
        name = f"{text}{MARKUP}".replace("/", "|").replace("\0", "")[:60]
        # TOML knows the escapes of JSON, but no surrogates.
        quoted = json.dumps(f"{text}{MARKUP}").replace("\\udc", "\\u00")
        job = f'name = "job{number}"\nkind = "command"\n[job.command]\nargv = ["true", {quoted}]'
        session = f"[session]\ntitle = {quoted}\n[[job]]\n{job}\n"
        shelf = folder if number % 2 else folder / "config/sessions"
        broken = f"\n{text} = [" if number % 3 else ""
        (shelf / f"{number:02}{name}.toml").write_bytes((session + broken).encode("utf-8", "surrogateescape"))
        if number < 6:
            theme = f"{text} = 1".encode("utf-8", "surrogateescape")
            (folder / "config/themes" / f"{name}.toml").write_bytes(theme)
    (folder / "config/keymap.toml").write_text(f'"run.stop" = "s"\n{json.dumps(MARKUP + TEXTS[0])} = "x"\n')


def main() -> None:
    base = Path(tempfile.mkdtemp())
    folder = base / f"{TEXTS[0]}{MARKUP}".replace("/", "|")
    folder.mkdir()
    hostile_files(folder)
    hostile_log(folder)
    settings = load_settings({"config_dir": str(folder / "config")}, {})
    faked = supervisor()
    told = Diagnosis("x", TEXTS[0], TEXTS[1], 1, 2)
    loud = run("20261130-095900-zzzz", f"{MARKUP}{TEXTS[2]}", created=1, started=1, ended=0, result=RunResult.FAILED,
               diagnosis=told)  # fmt: skip
    faked.runs.insert(0, replace(loud, folder=str(folder)))
    faked.history = past.history(faked.inventory)
    faked.series = {loud.id: [{**one, "name": f"{MARKUP}{TEXTS[number]}"} for number, one in enumerate(past.curves())]}
    app = AccelApp(faked.client, settings, COLOURS, str(folder), Options(), clock=Clock(), zone=ZONE)
    for text in TEXTS:
        faked.tell("notice", {"message": f"{MARKUP}{text}"})
    app.desk.draft(draft())
    app.run()
    if app.failure is not None:
        raise app.failure
    shutil.rmtree(base)


if __name__ == "__main__":
    main()
