"""What goes over the wire: events in pieces, versions, request bodies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.model.errors import RunNotFoundError, UsageError
from accel_tui.protocol import messages, paths, sse, version

SUBMISSION: dict[str, Any] = {"job": {"kind": "command"}, "select": "none", "base": {"A": "b"}, "cwd": "/tmp"}


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(1, 50))
def test_events_arrive_whole_whatever_the_pieces(texts: list[str], size: int) -> None:
    wire = b"".join(sse.encode("run", messages.dump({"text": t}), n) + sse.KEEPALIVE for n, t in enumerate(texts))
    decoder = sse.Decoder()
    found = [e for at in range(0, len(wire), size) for e in decoder.feed(wire[at : at + size]) if e is not None]
    assert [(event.id, event.name, event.data["text"]) for event in found] == [
        (number, "run", text) for number, text in enumerate(texts)
    ]


def test_bytes_of_no_encoding_survive_the_wire() -> None:
    value = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert messages.read_object(messages.dump({"A": value}).encode()) == {"A": value}


@pytest.mark.parametrize(
    "body", [b"{", b"[1]", b'"x"', b'{"a": NaN}', b'{"a": 1e999}', b"\xff", b'{"a":' + b"[" * 100_000]
)
def test_a_body_that_is_no_object_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(UsageError, match="body"):
        messages.read_object(body)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job", []),
        ("job", None),
        ("select", 3),
        ("select", None),
        ("base", {"A": 1}),
        ("base", {"A=B": "x"}),
        ("base", {"A": "x\0y"}),
        ("base", {"": "x"}),
        ("cwd", "relative"),
        ("cwd", None),
        ("secrets", ["x"]),
        ("priority", "high"),
        ("priority", True),
        ("priority", 10**9),
        ("after", "x"),
        ("after", [["a", "maybe"]]),
        ("after", [[1, "ok"]]),
        ("yes", "yes"),
        ("overrides", "all"),
        ("overrides", [1]),
        ("retry_of", 1),
        ("exact", {}),
        ("client", {"version": 1}),
    ],
)
def test_a_wrong_field_is_named(field: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"`{field}`"):
        messages.Submission.from_json({**SUBMISSION, field: value})


def test_a_submission_comes_back_as_it_was() -> None:
    submission = messages.Submission.from_json(
        {**SUBMISSION, "after": [["last", "ok"], "x"], "secrets": {"HF_TOKEN": "t"}, "priority": -3, "yes": True}
    )
    assert messages.Submission.from_json(json.loads(messages.dump(submission.to_json()))) == submission
    assert submission.after == (("last", "ok"), ("x", "any"))


@pytest.mark.parametrize(
    ("mine", "theirs", "newer"),
    [("0.2.0", "0.1.9", True), ("0.1.0", "0.1.0", False), ("0.10", "0.9", True), ("1.0", "1.0.0", False),
     ("1.0", "1.0rc1", True), ("0.1.0", "nonsense", True), ("0.1.0", "0.2.0", False)],
)  # fmt: skip
def test_only_a_newer_version_is_newer(mine: str, theirs: str, newer: bool) -> None:
    assert version.is_newer(mine, theirs) is newer


def test_the_version_is_that_of_the_distribution() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.*)"$', text, re.MULTILINE)[1] == version.VERSION  # type: ignore[index]


def test_the_protocol_is_understood_by_its_major_number() -> None:
    assert version.parse_protocol(version.protocol_text()) == version.PROTOCOL
    assert version.parse_protocol("one") is None
    assert version.understands((version.PROTOCOL[0], 99))
    assert not version.understands((version.PROTOCOL[0] + 1, 0))


def test_a_reference_cannot_leave_its_place_in_a_path() -> None:
    assert paths.run("devices?x#y", "stop") == "/runs/devices%3Fx%23y/stop"
    for ref in ("", ".", "..", "../devices"):
        with pytest.raises(RunNotFoundError):
            paths.run(ref)
    assert paths.with_query("/runs", {"all": True, "state": None, "name": "a b&c"}) == "/runs?all=1&name=a+b%26c"


def test_settings_that_only_say_where_files_are_do_not_differ() -> None:
    digest = version.settings_digest({"state_dir": "/a", "max_running": 1})
    assert digest == version.settings_digest({"max_running": 1, "state_dir": "/b"})
    assert digest != version.settings_digest({"max_running": 2})


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
def test_a_waiting_time_must_be_a_number_of_seconds(text: str) -> None:
    with pytest.raises(UsageError):
        messages.read_seconds(text, 5)


def test_a_waiting_time_is_bounded() -> None:
    assert messages.read_seconds("1e9", 5) == 5
    assert messages.read_seconds(None, 5) == 0
