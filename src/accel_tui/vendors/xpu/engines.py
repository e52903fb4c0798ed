"""Engine time from fdinfo: how busy a card's engines were with the clients that this account can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.model.devices import Reading, ok
from accel_tui.vendors.xpu.rates import TOLERANCE, Counter, pending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accel_tui.vendors.xpu.clients import Client

SOURCE = "fdinfo"
_OWN_CLOCK_TOLERANCE = 0.25
"""The busy time of i915 is compared with our own clock, which is read a moment later."""
KINDS = {
    "ccs": "compute", "compute": "compute", "rcs": "render", "render": "render", "bcs": "copy", "copy": "copy",
    "vcs": "media", "vecs": "media", "video": "media", "video-enhance": "media",
}  # fmt: skip
"""What the drivers' engine classes stand for; the first names are xe's, the second ones i915's."""


class EngineTime:
    """The busy share of each kind of engine of one card since the call before."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str], Counter] = {}

    def readings(self, clients: Iterable[Client]) -> dict[str, Reading]:
        """`utilization_percent` as the busier of compute and render, and each kind for itself.

        Of a client that is new, or whose counters went back, nothing counts before its next pair.
        """
        used: dict[tuple[str, str], Counter] = {}
        shares: dict[str, float] = {}
        kinds: set[str] = set()
        why = None
        for client in clients:
            for engine, busy, passed in _pairs(client):
                counter = used[client.number, engine] = self._counters.get((client.number, engine)) or Counter()
                kind = KINDS.get(engine)
                if kind is None:
                    continue
                kinds.add(kind)
                share = counter.share(busy, passed, TOLERANCE if client.cycles else _OWN_CLOCK_TOLERANCE)
                if share is None:
                    why = counter.why
                else:
                    shares[kind] = min(1.0, shares.get(kind, 0.0) + share)
        self._counters = used
        return _readings(shares, kinds, why)


def _pairs(client: Client) -> Iterable[tuple[str, int, int]]:
    """Engine class, busy time and elapsed time in one unit, over all engines of the class."""
    for engine, cycles in client.cycles.items():
        total = client.total_cycles.get(engine)
        if total is not None:
            yield engine, cycles, total * client.capacity.get(engine, 1)
    for engine, nanoseconds in client.nanoseconds.items():
        yield engine, nanoseconds, client.read_at * client.capacity.get(engine, 1)


def _readings(shares: Mapping[str, float], kinds: set[str], why: str | None) -> dict[str, Reading]:
    found = {}
    for kind in sorted(kinds):
        value = shares.get(kind)
        name = f"utilization_{kind}_percent"
        found[name] = pending(why or "", SOURCE) if value is None else ok(round(100 * value, 1), SOURCE)
    busy = [shares[kind] for kind in ("compute", "render") if kind in shares]
    if busy:
        found["utilization_percent"] = ok(round(100 * max(busy), 1), SOURCE)
    elif kinds & {"compute", "render"}:
        found["utilization_percent"] = pending(why or "", SOURCE)
    return found
