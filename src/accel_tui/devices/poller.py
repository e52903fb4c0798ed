"""One source as the sampler sees it: asked in turns, with its last answers and their age."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from accel_tui.devices.merge import Layer
from accel_tui.devices.probes import Probe, ProbeError
from accel_tui.model.devices import Device, Holder, Problem, Reading, ReadingStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.devices.provider import Answer

FIRST_PAUSE = 0.15
"""Between the first two reads: the shortest span over which rates are sound."""
_INVENTORY_EVERY = 30.0
_FRESH_SECONDS = 1.5
_SLOW = 0.25
_SLOW_INTERVAL, _SLOW_FACTOR = 2.0, 4.0
_LEAST_GAP = 0.1
_TOLERANCE = 0.05
_OTHERS_BEGIN = 2.0
"""Within the time of a first answer, so that sensors still stand in for a tool that hangs."""


class Poller:
    """Asks one probe for ever; a failure changes what the last answers are worth and nothing else.

    `interval()` says the pace now, `sampled(layer)` is called after each round with the new readings, or with None;
    `served(poller)` says whether the sources that this one stands behind give what it would.
    """

    def __init__(
        self,
        probe: Probe,
        interval: Callable[[], float],
        sampled: Callable[[Layer | None], None],
        clock: Callable[[], float],
        served: Callable[[Poller], bool] = lambda _poller: False,
    ) -> None:
        self.probe = probe
        self.label = probe.entry.label
        self.complete = asyncio.Event()
        """Set after the first complete sample, or the first failure: nobody waits longer for this source."""
        gives = probe.entry.gives
        self.reads = "readings" in gives
        self._lists, self._holds = "inventory" in gives, "holders" in gives
        self._wanted_interval, self._sampled, self._clock, self._served = interval, sampled, clock, served
        self.before: Sequence[Poller] = ()
        """Those that this one stands behind."""
        self._asked_at: float | None = None
        self._read_begun: float | None = None
        self._devices: Mapping[str, Device] | None = None
        self._problems: tuple[Problem, ...] = ()
        self._readings: Mapping[str, Mapping[str, Reading]] = {}
        self._holders: Mapping[str, Sequence[Holder]] = {}
        self._read_at: float | None = None
        self._listed_at: float | None = None
        self._listed_from: Answer | None = None
        self._is_wanted = False
        self._looked_at: float | None = None
        self._interval = interval()
        self._latency = 0.0
        self._wake = asyncio.Event()
        self._poked = False
        self._round = asyncio.Event()

    async def run(self) -> None:
        """Sample until cancelled."""
        if self._is_last_resort:
            await self._let_others_begin()
        await self._take()
        if self.reads and self._is_wanted and self.probe.failure is None and not self._least:
            await asyncio.sleep(FIRST_PAUSE)
            await self._take()
        self.complete.set()
        self._sampled(None)
        while True:
            await self._rest()
            await self._take()

    def pace(self) -> None:
        """The wanted pace may have changed: an idle source that is now watched does not sleep to the end."""
        self._wake.set()

    def poke(self) -> None:
        """Ask now."""
        self._looked_at = None
        self._poked = True
        self._wake.set()

    async def refreshed(self) -> None:
        """Ask now and wait for the end of that round."""
        done = self._round
        self.poke()
        await done.wait()

    @property
    def is_quick(self) -> bool:
        """Whether it gives readings that nobody before it gives, and a question would be answered at once."""
        answers = self.reads and self._is_wanted and self.probe.failure is None and self._latency <= _SLOW
        return answers and not self._served(self)

    @property
    def interval(self) -> float:
        """Seconds between two rounds at present."""
        return self._interval

    @property
    def fresh_seconds(self) -> float:
        """How old a sample may be before it is worth a question beside the pace."""
        return max(_FRESH_SECONDS, self._least)

    def sample_age(self) -> float:
        return float("inf") if self._read_at is None else self._clock() - self._read_at

    def sampled_since(self, moment: float) -> bool:
        """Whether its readings were taken after `moment`, and not only told after it."""
        return self._read_begun is not None and self._read_begun >= moment

    def layer(self, now: float) -> Layer:
        """What this source says, its readings with their age, or `stale` when they are too old."""
        return Layer(self.label, self._devices, self._aged(now), self._holders)

    def problems(self) -> list[Problem]:
        """What the source told, and that it does not answer."""
        failure, vendor = self.probe.failure, self.probe.entry.vendor
        if failure is None and not self.complete.is_set():
            return [*self._problems, Problem(vendor, "source-pending", f"{self.label} has not answered yet.")]
        if failure is None:
            return list(self._problems)
        remedy = failure.remedy or "What it said last is shown as stale; it is asked again by itself, ever more rarely."
        silent = Problem(vendor, f"source-{failure.code}", f"{self.label}: {failure.message}", remedy)
        return [*self._problems, silent]

    def placeholder(self) -> Reading | None:
        """What stands for the core readings as long as none have come; None once they have."""
        silent = self._looked_at is not None and not self._is_wanted
        if not self.reads or silent or self._read_at is not None or self._is_last_resort:
            return None
        failure, source = self.probe.failure, self.probe.entry.name
        if failure is None:
            return Reading(ReadingStatus.PENDING, reason=f"{self.label} has not answered yet", source=source)
        status = ReadingStatus.DENIED if failure.code == "denied" else ReadingStatus.FAILED
        remedy = f"; {failure.remedy}" if failure.remedy and status is ReadingStatus.DENIED else ""
        return Reading(status, reason=f"{self.label}: {failure.message}{remedy}", source=source)

    @property
    def _least(self) -> float:
        return self.probe.entry.least_seconds

    @property
    def _is_last_resort(self) -> bool:
        """Whether it is asked only where the others fail."""
        return bool(self.probe.entry.behind) and self.probe.entry.spare_seconds is None

    async def _let_others_begin(self) -> None:
        """Wait for the first answers of those before us, not for one that hangs."""
        waits = [asyncio.ensure_future(other.complete.wait()) for other in self.before]
        if waits:
            try:
                await asyncio.wait(waits, timeout=_OTHERS_BEGIN)
            finally:
                for wait in waits:
                    wait.cancel()

    def serves(self, key: str, name: str) -> bool:
        """Whether this source has a fresh number for a reading."""
        reading = None if self.probe.failure is not None else self._readings.get(key, {}).get(name)
        return reading is not None and reading.status is ReadingStatus.OK

    def leaves_out(self, device: Device) -> bool:
        """Whether it reads other cards of the vendor, and does not list this one."""
        same = self.probe.entry.vendor == device.vendor
        return same and self._lists and bool(self._readings) and device.key not in self.devices

    @property
    def devices(self) -> Mapping[str, Device]:
        """What it lists; empty while it has not answered."""
        return self._devices or {}

    def _is_due(self) -> bool:
        """Whether a question now is neither superfluous nor too early."""
        if not self._wanted():
            return False
        since = float("inf") if self._asked_at is None else self._clock() - self._asked_at
        spare = self.probe.entry.spare_seconds
        if self._served(self) and (spare is None or since < spare):
            return False
        return since >= self._least - _TOLERANCE

    async def _take(self) -> None:
        """One round: inventory when it is due, readings, holders; the time of the answers is measured."""
        fresh = False
        if not self._is_due():
            self._end_round()
            return
        self._asked_at = self._clock()
        every = self.probe.entry.lists_every
        try:
            listed = self._clock()
            if self._lists and (self._listed_at is None or listed - self._listed_at >= every):
                answer = await self.probe.ask("inventory")
                changed = self._problems != answer.problems or self._listed_from is not answer
                self._listed_from, self._problems, self._listed_at = answer, answer.problems, self._clock()
                if changed:
                    self._devices = {device.key: device for device in answer.devices}
                    self._sampled(None)
            if self.reads:
                # A tool is run once for both questions: then the first of them is the one that takes time.
                begun = listed if self._least else self._clock()
                self._readings = (await self.probe.ask("read")).readings
                self._read_at, self._read_begun = self._clock(), begun
                self._latency = max(self._read_at - begun, self._latency / 2)
                fresh = True
            if self._holds:
                self._holders = (await self.probe.ask("holders")).holders
        except ProbeError:
            # Kept by the probe as its failure, and shown from there. The first answer does not wait for a second try.
            # Holders stay as they were: a card must not look free because nobody answers.
            self._listed_at = None
            self.complete.set()
        self._end_round()
        self._sampled(Layer(self.label, None, self._readings) if fresh else None)

    def _end_round(self) -> None:
        done, self._round = self._round, asyncio.Event()
        done.set()

    def _wanted(self) -> bool:
        """Whether there is anything to ask for. Once there was, the source itself tells what became of it."""
        if not self._is_wanted and (self._looked_at is None or self._clock() - self._looked_at >= _INVENTORY_EVERY):
            self._looked_at = self._clock()
            self._is_wanted = self.probe.is_wanted()
        return self._is_wanted

    async def _rest(self) -> None:
        """Sleep until the next round is due, on whole multiples of the interval so that sources answer together."""
        begun = self._clock()
        while not self._poked:
            self._interval = self._adapted(self._wanted_interval())
            due = (begun // self._interval + 1) * self._interval
            if due - begun < _LEAST_GAP:  # too short a span for a rate
                due += self._interval
            if self._asked_at is not None:
                # Whole multiples alone would ask a slow source again at once whenever its pace was adapted.
                due = max(due, self._asked_at + (self._interval if self._latency > _SLOW else self._least))
            due = max(due, begun + self.probe.retry_in)
            self._wake.clear()
            left = due - self._clock()
            if left <= 0:
                break
            # Not `wait_for`: before Python 3.12 it can swallow the cancellation that ends us.
            timer = asyncio.get_running_loop().call_later(left, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
        self._poked = False

    def _adapted(self, interval: float) -> float:
        interval = max(interval, self._least)
        if self._latency <= _SLOW:
            return interval
        return max(interval, _SLOW_INTERVAL, _SLOW_FACTOR * self._latency)

    def _aged(self, now: float) -> dict[str, dict[str, Reading]]:
        failure = self.probe.failure
        if self._read_at is None:
            return {}
        age = max(0.0, now - self._read_at)
        pace = self._interval
        if self.probe.entry.behind and self._served(self):
            if self.probe.entry.spare_seconds is None:
                return {}
            pace = self.probe.entry.spare_seconds
        stale = failure is not None or age > 3 * pace + 2 * self._latency
        why = f"{self.label} has not answered for {age:.0f} s" + (f": {failure.message}" if failure else "")
        return {
            key: {name: self._age(reading, age, why if stale else None) for name, reading in named.items()}
            for key, named in self._readings.items()
        }

    @staticmethod
    def _age(reading: Reading, age: float, stale: str | None) -> Reading:
        total = age + (reading.age_seconds or 0.0)
        if stale is None or reading.status is not ReadingStatus.OK:
            return replace(reading, age_seconds=total)
        return Reading(ReadingStatus.STALE, reason=stale, source=reading.source, age_seconds=total)
