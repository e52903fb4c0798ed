"""The probe process: runs one source and answers its parent in JSON lines.

Started as `python -I -c … LABEL` by `devices.probes`. The first line on standard input is
`{"module", "attribute", "paths": [FOLDER…], "places": {…}}`, the first line back `{"ready": true}` or
`{"broken": TEXT}`. Then each request `{"id": N, "ask": "inventory"|"read"|"holders"}` gets one line
`{"id": N, …}`, or `{"id": N, "error": TEXT}` when the source raised, with `remedy`, `code` and `rests` of a
`SourceFault`. An inventory that did not change since the last one is `{"id": N, "same": true}`. End of file ends it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
from typing import IO, Any

from accel_tui.devices.provider import Source, ask
from accel_tui.model.devices import SourceFault
from accel_tui.model.places import Places

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve one source until the parent closes the pipe or dies."""
    _die_with_parent()
    requests, answers = _own_pipes()
    try:
        _serve(requests, answers)
    except BrokenPipeError:  # the parent is gone
        os._exit(0)


def _serve(requests: IO[str], answers: IO[str]) -> None:
    try:
        source = _open(json.loads(requests.readline()))
    except BaseException as error:  # process border: whatever a vendor module raises is told
        _send(answers, {"broken": _words(error)})
        return
    _send(answers, {"ready": True})
    listed: dict[str, Any] | None = None
    for line in requests:
        request = json.loads(line)
        answer = _answer(source, request["ask"])
        if request["ask"] == "inventory":
            answer, listed = ({"same": True} if answer == listed and "error" not in answer else answer), answer
        _send(answers, {"id": request["id"], **answer})


def _die_with_parent() -> None:
    """Have the kernel end us with our parent, even while a vendor call hangs and nobody reads the pipe."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


def _own_pipes() -> tuple[IO[str], IO[str]]:
    """Move our pipes away from descriptors 0 and 1: a vendor library that prints or reads must not meet them."""
    requests, answers = os.dup(0), os.dup(1)  # not inheritable, so no child of the source holds them open
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return os.fdopen(requests, encoding="utf-8"), os.fdopen(answers, "w", encoding="utf-8")


def _open(hello: dict[str, Any]) -> Source:
    sys.path.extend(path for path in hello["paths"] if path not in sys.path)
    module = importlib.import_module(hello["module"])
    source: Source = getattr(module, hello["attribute"])(Places.from_json(hello["places"]))
    return source


def _answer(source: Source, question: str) -> dict[str, Any]:
    try:
        return ask(source, question)
    except SourceFault as fault:
        return {"error": fault.message[:2000], "remedy": fault.remedy, "code": fault.code, "rests": fault.rests}
    except Exception as error:  # process border: one call that fails must not end the source
        return {"error": _words(error)}


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:2000]


def _send(answers: IO[str], document: dict[str, Any]) -> None:
    try:
        text = json.dumps(document, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        text = json.dumps({"id": document.get("id"), "error": f"the answer is not JSON: {error}"})
    answers.write(text + "\n")
    answers.flush()
