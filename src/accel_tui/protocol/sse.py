"""Server-sent events: the codec of the event stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

KEEPALIVE = b": \n\n"
"""A comment: it says that the sender lives and nothing else."""

LIMIT = 64 * 1024 * 1024
"""Bytes after which an unfinished event is given up."""


@dataclass(frozen=True)
class Event:
    """One event of the stream."""

    name: str
    """`snapshot`, `devices`, `run`, `removed`, `notice`."""
    data: dict[str, Any]
    id: int | None = None
    """Rises by one with every event of one supervisor."""


def encode(name: str, data: str, identifier: int | None = None) -> bytes:
    """One event; `data` is JSON text on one line."""
    head = "" if identifier is None else f"id: {identifier}\n"
    return f"{head}event: {name}\ndata: {data}\n\n".encode()


class Decoder:
    """Turns chunks of any size into events.

    A keep-alive yields None, so that a reader sees life without an event.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[Event | None]:
        """The events that `chunk` completes.

        Raises:
            ValueError: what arrived is no event stream of ours.
        """
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        if len(self._rest) > LIMIT:
            raise ValueError("an event does not end")
        for block in blocks:
            yield _decode(block.decode())


def _decode(block: str) -> Event | None:
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        if name:
            fields[name] = value.removeprefix(" ")
    if "data" not in fields:
        return None
    data = json.loads(fields["data"])
    if not isinstance(data, dict):
        raise ValueError("an event's data is no object")  # noqa: TRY004 - a fault of the stream, not of a caller
    identifier = fields.get("id", "")
    return Event(fields.get("event", "message"), data, int(identifier) if identifier.isdigit() else None)
