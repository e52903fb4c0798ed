"""The bodies of requests as typed values; reading one names the field that is wrong."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

AFTER = ("any", "ok")
"""How a run may wait for another: until it is finished, or until it has succeeded."""


@dataclass(frozen=True)
class Submission:
    """The body of `POST /runs`, `/plan` and `/check`."""

    job: Mapping[str, Any]
    """The job's fields; checked by `jobs.spec.parse_job`."""
    select: str
    """A device selector."""
    base: Mapping[str, str]
    """The submitter's environment without its secrets."""
    cwd: str
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Never stored; see `model.secrets`."""
    priority: int = 0
    after: tuple[tuple[str, str], ...] = ()
    """Pairs of a run's reference and `any` or `ok`."""
    yes: bool = False
    overrides: tuple[str, ...] = ()
    retry_of: str | None = None
    exact: str | None = None
    """The id of a run whose recorded environment is taken in place of `base`."""
    client: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    """The id that the run is to have: asking again with it, after a link that broke, gives the same run."""

    def to_json(self) -> dict[str, Any]:
        return {
            "job": dict(self.job),
            "select": self.select,
            "base": dict(self.base),
            "secrets": dict(self.secrets),
            "cwd": self.cwd,
            "priority": self.priority,
            "after": [list(pair) for pair in self.after],
            "yes": self.yes,
            "overrides": list(self.overrides),
            "retry_of": self.retry_of,
            "exact": self.exact,
            "client": dict(self.client),
            "id": self.id,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Submission:
        """Raises UsageError, which names the field, where `document` is no submission."""
        read = Reader(document)
        submission = cls(
            job=read.table("job"),
            select=read.typed("select", str),
            base=read.texts("base"),
            cwd=read.typed("cwd", str),
            secrets=read.texts("secrets", optional=True),
            priority=read.typed("priority", int, 0),
            after=_after(document.get("after") or ()),
            yes=read.typed("yes", bool, default=False),
            overrides=_texts("overrides", document.get("overrides") or ()),
            retry_of=read.text_or_none("retry_of"),
            exact=read.text_or_none("exact"),
            client=read.texts("client", optional=True),
            id=read.text_or_none("id"),
        )
        if not submission.cwd.startswith("/") or "\0" in submission.cwd:
            raise UsageError("`cwd` is no absolute path")
        if abs(submission.priority) > 1_000_000:
            raise UsageError("`priority` lies outside -1000000 to 1000000")
        return submission


class Reader:
    """Typed access to the fields of a request; a wrong one is a UsageError that names it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def typed(self, name: str, kind: type[T], default: T | None = None) -> T:
        """The field as `kind`; `default` where it is absent, None means that it must be there."""
        value = self._document.get(name)
        if value is None and default is not None:
            return default
        # A bool is an int to Python and none to a reader of JSON.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(f"`{name}` must be {_KINDS.get(kind, kind.__name__)}")
        return value

    def table(self, name: str) -> Mapping[str, Any]:
        value = self._document.get(name)
        if not isinstance(value, dict):
            raise UsageError(f"`{name}` must be an object")
        return value

    def texts(self, name: str, *, optional: bool = False) -> Mapping[str, str]:
        """A table of variables: names without `=` and values without a NUL byte."""
        value = self._document.get(name)
        if value is None and optional:
            return {}
        if not isinstance(value, dict):
            raise UsageError(f"`{name}` must be an object of texts")
        for key, text in value.items():
            if not isinstance(text, str) or "\0" in text or not key or "=" in key or "\0" in key:
                raise UsageError(f"`{name}` holds an entry that is no variable: {key[:80]!r}")
        return value

    def text_or_none(self, name: str) -> str | None:
        value = self._document.get(name)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"`{name}` must be a text or null")
        return value


_KINDS: Mapping[type, str] = {str: "a text", int: "a whole number", bool: "true or false"}


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"`{name}` must be a list of texts")
    return tuple(value)


def _after(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list | tuple):
        raise UsageError("`after` must be a list")
    pairs = []
    for item in value:
        pair = (item, "any") if isinstance(item, str) else item
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str) or pair[1] not in AFTER:
            raise UsageError('`after` holds pairs of a run and "any" or "ok"')
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a request's body; an empty body is an empty object.

    Raises:
        UsageError: it is something else.
    """
    if not body.strip():
        return {}
    try:
        document = json.loads(body, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {str(error)[:200]}") from None
    if not isinstance(document, dict):
        raise UsageError("the body must be a JSON object")
    return document


def _no_number(text: str) -> float:
    raise ValueError(f"{text[:40]} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def read_seconds(text: str | None, limit: float) -> float:
    """A waiting time of a query, at most `limit`; 0 where there is none.

    Raises:
        UsageError: it is no number of seconds.
    """
    if text is None:
        return 0.0
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds) or seconds < 0:
        raise UsageError("`wait` must be a number of seconds")
    return min(seconds, limit)


def read_points(text: str | None) -> int | None:
    """The most points of one series that a query asks for; None where it does not say.

    Raises:
        UsageError: it is no whole number above 0.
    """
    if text is None:
        return None
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise UsageError("`points` must be a whole number above 0")
    return int(text)


def dump(document: object) -> str:
    """`document` as compact JSON text on one line; ASCII, so that bytes of no encoding survive as lone surrogates."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
