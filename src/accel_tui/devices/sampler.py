"""Samples every source at its own pace and joins what they say into inventories.

Each source has a task of its own: inventory first, then two reads 150 ms apart so that rates exist at once, then a read
a second while somebody watches or a run is live, one in ten seconds otherwise.
A source that is slow is asked less often.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.indexes import IndexMap
from accel_tui.devices.merge import CORE_READINGS, Layer, join_devices, join_holders, join_readings, share_claims
from accel_tui.devices.poller import Poller
from accel_tui.devices.probes import Probe
from accel_tui.devices.registry import SourceEntry, sources
from accel_tui.model.devices import (
    Device,
    DeviceState,
    DeviceView,
    Holder,
    Inventory,
    Reading,
    ReadingStatus,
    ReservedBy,
    failed,
)
from accel_tui.model.times import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from accel_tui.devices.history import Sample
    from accel_tui.model.places import Places

WATCHED_INTERVAL = 1.0
IDLE_INTERVAL = 10.0
_FRESH_WAIT = 1.0
_COLLAPSE_SECONDS = 0.05


class Sampler:
    """The devices of this host as they are now. Lives on one event loop; all methods are called from it.

    `reserved_by(key)` and `run_of(pid)` are supplied by the supervisor and must not block; `busy()` says whether a run
    is live; `record` takes batches of numbers and must not block either (`History.append`). `index_file` is where the
    indexes of the cards are remembered for the next start.
    """

    def __init__(
        self,
        places: Places,
        *,
        entries: Sequence[SourceEntry] | None = None,
        environment: Mapping[str, str] | None = None,
        deadlines: Deadlines | None = None,
        reserved_by: Callable[[str], ReservedBy | None] = lambda _key: None,
        run_of: Callable[[int], str | None] = lambda _pid: None,
        busy: Callable[[], bool] = lambda: False,
        record: Callable[[Sequence[Sample]], None] = lambda _samples: None,
        index_file: Path | None = None,
        host: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        listed, self._problems = sources(places) if entries is None else (tuple(entries), ())
        self._reserved_by, self._run_of, self._busy, self._record = reserved_by, run_of, busy, record
        self._host = host or socket.gethostname()
        self._clock, self._wall = clock, wall
        self._watchers = 0
        self._subscriptions: set[Subscription] = set()
        self._recorded: set[tuple[str, str]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        probes = [Probe(e, places, environment=environment, deadlines=deadlines, clock=clock) for e in listed]
        self._pollers = [Poller(probe, self._interval, self._sampled, clock, self._served) for probe in probes]
        for poller in self._pollers:
            poller.before = [other for other in self._pollers if _stands_behind(poller, other)]
        self._indexes = IndexMap(index_file) if index_file is not None else None
        self._seen: dict[str, Device] = {}
        """Accelerators as they were last listed: one that falls off stays listed as lost."""

    async def start(self) -> None:
        """Start sampling; returns at once."""
        self._tasks = [asyncio.create_task(poller.run(), name=poller.label) for poller in self._pollers]

    async def stop(self) -> None:
        """End the sampling and the probe processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(poller.probe.close() for poller in self._pollers))
        for subscription in list(self._subscriptions):
            subscription.close()

    async def inventory(self, wait: float = 2.5) -> Inventory:
        """The devices with readings that are at most about a second old where the sources allow it.

        Waits for the first complete sample of every source, at most `wait` seconds; after that a source that is not
        sampled every second is asked again first, unless it is slow.
        """
        late = [poller for poller in self._pollers if not poller.complete.is_set()]
        if late:
            await _all_within([poller.complete.wait() for poller in late], wait)
        else:
            old = [poller for poller in self._pollers if poller.is_quick and poller.sample_age() > poller.fresh_seconds]
            await _all_within([poller.refreshed() for poller in old], min(wait, _FRESH_WAIT))
        return self.snapshot()

    async def look_again(self, wait: float) -> Inventory:
        """The devices with readings that were asked for now, where the sources answer within `wait` seconds."""
        await _all_within([poller.refreshed() for poller in self._pollers if poller.is_quick], wait)
        return self.snapshot()

    def sampled_since(self, moment: float) -> bool:
        """Whether every source that can be asked at once was asked after `moment` of the clock, and has answered."""
        return all(poller.sampled_since(moment) for poller in self._pollers if poller.is_quick)

    def snapshot(self) -> Inventory:
        """The devices as they are known at this moment, without waiting."""
        now = self._clock()
        layers = [poller.layer(now) for poller in self._pollers]
        devices, silent = join_devices(layers, self._seen)
        self._seen.update({device.key: device for device in devices if device.pci_address is not None})
        moved = self._indexes.compare(devices) if self._indexes is not None else ()
        views = tuple(
            DeviceView(
                device,
                readings=self._complete(device, join_readings(device.key, layers)),
                holders=tuple(self._ours(holder) for holder in join_holders(device.key, layers)),
                reserved_by=self._reserved_by(device.key),
            )
            for device in devices
        )
        problems = [*self._problems, *(p for poller in self._pollers for p in poller.problems()), *silent, *moved]
        return Inventory(self._host, time_text(self._wall()), share_claims(views), tuple(dict.fromkeys(problems)))

    def subscribe(self, *, watch: bool = True) -> Subscription:
        """Changes from now on. While one that watches is open, sources are sampled every second."""
        subscription = Subscription(self, watch=watch)
        self._subscriptions.add(subscription)
        if watch:
            self._watch(+1)
        return subscription

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Sample every second as long as this is open."""
        self._watch(+1)
        try:
            yield
        finally:
            self._watch(-1)

    def changed(self) -> None:
        """Tell subscribers that something beside the samples changed, such as a reservation, and adapt the pace."""
        for subscription in self._subscriptions:
            subscription.notify()
        for poller in self._pollers:
            poller.pace()

    def retry(self) -> None:
        """Ask failed sources again now instead of after their back-off."""
        for poller in self._pollers:
            poller.probe.retry_now()
            poller.poke()

    @property
    def probe_pids(self) -> dict[str, int | None]:
        """The probe process of each source, for `doctor` and tests."""
        return {poller.label: poller.probe.pid for poller in self._pollers}

    @property
    def intervals(self) -> dict[str, float]:
        """Seconds between two questions to each source, as adapted to its speed."""
        return {poller.label: poller.interval for poller in self._pollers}

    def forget(self, subscription: Subscription) -> None:
        """Called by a subscription that was closed."""
        if subscription in self._subscriptions:
            self._subscriptions.discard(subscription)
            if subscription.watch:
                self._watch(-1)

    def _watch(self, change: int) -> None:
        self._watchers += change
        for poller in self._pollers:
            poller.pace()

    def _interval(self) -> float:
        return WATCHED_INTERVAL if self._watchers or self._busy() else IDLE_INTERVAL

    def _sampled(self, layer: Layer | None) -> None:
        """A source answered or failed; `layer` carries new readings."""
        if layer is not None:
            self._record(self._samples(layer))
        for subscription in self._subscriptions:
            subscription.notify()

    def _samples(self, layer: Layer) -> list[Sample]:
        """The numbers of a layer, and one empty value where a reading that was recorded has none any more: a gap."""
        now = self._wall()
        batch: list[Sample] = []
        for key, named in layer.readings.items():
            for name, reading in named.items():
                number = reading.value if reading.status is ReadingStatus.OK else None
                if isinstance(number, int | float):
                    self._recorded.add((key, name))
                    batch.append((key, name, now, float(number)))
                elif (key, name) in self._recorded:
                    self._recorded.discard((key, name))
                    batch.append((key, name, now, None))
        return batch

    def _complete(self, device: Device, readings: dict[str, Reading]) -> dict[str, Reading]:
        """With the core readings as `pending` or `failed` while a source of them has not answered yet."""
        if device.state is DeviceState.LOST:
            gone = failed("the card fell off: it does not answer any more")
            return {name: gone if r.status is not ReadingStatus.FAILED else r
                    for name, r in {**dict.fromkeys(CORE_READINGS, gone), **readings}.items()}  # fmt: skip
        for poller in self._pollers:
            placeholder = poller.placeholder() if poller.probe.entry.vendor in (device.vendor, "demo") else None
            if placeholder is not None:
                stood = Layer(poller.label, readings={device.key: dict.fromkeys(CORE_READINGS, placeholder)})
                readings = join_readings(device.key, [Layer("", readings={device.key: readings}), stood])
        if not any(name in readings for name in CORE_READINGS):
            unlisted = next((poller.label for poller in self._pollers if poller.leaves_out(device)), None)
            if unlisted is not None:
                left_out = failed(f"{unlisted} does not list this card")
                readings = {**dict.fromkeys(CORE_READINGS, left_out), **readings}
        return readings

    def _served(self, poller: Poller) -> bool:
        """Whether those that a source stands behind have every core reading of every usable card of the vendor."""
        if not poller.before:
            return False
        vendor = poller.probe.entry.vendor
        listed = [other.devices for other in self._pollers if other.probe.entry.vendor == vendor]
        usable = (DeviceState.OPERATIONAL, DeviceState.UNKNOWN)
        faulty = {key for some in listed for key, device in some.items() if device.state not in usable}
        keys = {key for some in listed for key in some} - faulty
        return bool(keys) and all(
            any(other.serves(key, name) for other in poller.before) for key in keys for name in CORE_READINGS
        )

    def _ours(self, holder: Holder) -> Holder:
        return replace(holder, run=holder.run or self._run_of(holder.pid))


class Subscription:
    """A view on the sampler's changes; a burst collapses to its newest state. An async iterator of inventories."""

    def __init__(self, sampler: Sampler, *, watch: bool) -> None:
        self.watch = watch
        self._sampler = sampler
        self._event = asyncio.Event()
        self._closed = False

    def notify(self) -> None:
        self._event.set()

    async def wait(self) -> bool:
        """Wait for a change, without making an inventory of it; False when closed."""
        await self._event.wait()
        if not self._closed:
            await asyncio.sleep(_COLLAPSE_SECONDS)
            self._event.clear()
        return not self._closed

    async def __aiter__(self) -> AsyncIterator[Inventory]:
        while await self.wait():
            yield self._sampler.snapshot()

    def close(self) -> None:
        """End the iteration and stop watching."""
        self._closed = True
        self._event.set()
        self._sampler.forget(self)


def _stands_behind(poller: Poller, other: Poller) -> bool:
    """Whether `other` makes the readings of `poller` superfluous where it has them."""
    behind, entry = poller.probe.entry, other.probe.entry
    return other.reads and entry.vendor == behind.vendor and entry.name in behind.behind


async def _all_within(waits: Sequence[Coroutine[Any, Any, object]], seconds: float) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.cancel()
