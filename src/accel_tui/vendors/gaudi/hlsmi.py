"""Readings and inventory through `hl-smi`, the vendor's tool: one short process per round.

A round asks the core set and the optional fields that this build takes. What it can do is found out at the start, a
group of fields at a time, and what moves slowly (errors, link, violations, ports, replaced rows) is asked now and then;
both only as far as a round's time allows.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from accel_tui.model.devices import (
    Device,
    DeviceState,
    Problem,
    Reading,
    ReadingStatus,
    SourceFault,
    denied,
    failed,
    ok,
)
from accel_tui.vendors.gaudi import facts, fields, reports
from accel_tui.vendors.gaudi.table import Table, parse, word
from accel_tui.vendors.gaudi.tool import Answer, Tool, environment, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from accel_tui.model.devices import Holder
    from accel_tui.model.places import Places

FIRST_SECONDS, LATER_SECONDS = 10.0, 5.0
"""Limits of a call; the first one may have to wake the card."""
_EXTRA_SECONDS = 0.8
"""How long a round goes on with what is not the core set."""
_LISTED = 6
_SLOW_EVERY = 30.0
_PORTS_EVERY = 60.0
_FORMAT = ("-f", "csv")
_RIGHTS = "run as root, or ask the administrator for the right; meanwhile sysfs answers what it can"


def open_source(places: Places) -> HlSmiSource:
    """The source; the tool is looked for at the first question."""
    return HlSmiSource(places.hl_smi, os.environ)


class HlSmiSource:
    """What the tool says, and nothing that it does not say."""

    name = fields.SOURCE
    vendor = "gaudi"

    def __init__(
        self, configured: str | None, base: Mapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._configured, self._base, self._clock = configured, base, clock
        self._tool: Tool | None = None
        self._table: Table | None = None
        self._unread = False
        """Whether the table was made for an inventory, and the readings of the same round are still to come."""
        self._is_first = True
        self._quick: tuple[str, ...] = ()
        self._slow: tuple[str, ...] = ()
        self._steps: Iterator[None] = iter(())
        self._extra: dict[str, dict[str, tuple[Reading, float]]] = {}
        """Slow readings by card, with the time at which they were taken."""
        self._violations: dict[str, dict[str, float]] = {}
        self._details: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, None] = {}
        self._due = float("-inf")
        self._ports_due = float("-inf")

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """The cards that the tool lists; the readings that are asked next come from the same call.

        Raises:
            SourceFault: the tool is missing, hung, or answered no table.
        """
        table = self._ask()
        self._unread = True
        problems = []
        if fields.says_nothing(table):
            problems.append(Problem("gaudi", "denied", fields.denied_reason(), _RIGHTS))
        if table.lost_lines:
            problems.append(
                Problem("gaudi", "lines-unreadable", f"hl-smi printed {table.lost_lines} lines that name no card")
            )
        return [self._device(table, address) for address in table.rows], problems

    def read(self) -> dict[str, dict[str, Reading]]:
        """The readings of every card that the tool ever listed.

        Raises:
            SourceFault: as for `inventory`.
        """
        begun = self._clock()
        table = self._table if self._unread and self._table is not None else self._ask()
        self._unread = False
        self._go_on(begun + _EXTRA_SECONDS)
        nothing = fields.says_nothing(table)
        return {f"pci:{address}": self._readings(table, address, nothing=nothing) for address in self._seen}

    def holders(self) -> dict[str, list[Holder]]:
        """Nothing: without root the tool hides processes, and `/proc` tells more."""
        return {}

    # One round

    def _ask(self) -> Table:
        """The core set, with the optional fields that are asked as often."""
        tool = self._tool
        if tool is None:
            tool = Tool(find(self._configured, self._base), environment(self._base))
        seconds = FIRST_SECONDS if self._tool is None else LATER_SECONDS
        table, answer = self._query(tool, (*fields.CORE, *self._quick), seconds)
        if table is None and self._quick:  # what it took before it does not take now
            self._quick = ()
            table, answer = self._query(tool, fields.CORE, LATER_SECONDS)
        if table is None:
            raise self._refused(answer)
        if table.says_nothing:
            raise SourceFault(fields.denied_reason(), _RIGHTS, code="denied", rests=True)
        if self._tool is None:
            self._tool, self._steps = tool, self._abilities(tool)
        self._table = table
        self._seen.update(dict.fromkeys(table.rows))
        return table

    @staticmethod
    def _query(tool: Tool, names: Sequence[str], seconds: float) -> tuple[Table | None, Answer]:
        """The table of these fields; None when the tool refuses (whatever its exit code says)."""
        answer = tool.run(["-Q", ",".join(names), *_FORMAT], seconds)
        table = parse(answer.out, names)
        if table is None or (not table.rows and answer.code != 0):
            return None, answer
        return table, answer

    def _refused(self, answer: Answer) -> SourceFault:
        words, lower = answer.words(), (answer.out + answer.err).lower()
        if "no aips" in lower or "no devices" in lower:
            remedy = "load the driver (modprobe habanalabs), or start the container with cards; see `accel-tui doctor`"
            return SourceFault(f"hl-smi says: {words}", remedy, code="no-device", rests=True)
        if "driver" in lower:
            remedy = "load or install the driver (habanalabs); see `accel-tui doctor`"
            return SourceFault(f"hl-smi says: {words}", remedy, code="no-driver", rests=True)
        if "permission" in lower or "denied" in lower:
            return SourceFault(f"hl-smi says: {words}", _RIGHTS, code="denied", rests=True)
        remedy = "see what `hl-smi -Q index,bus_id -f csv` says by itself"
        how = f" ({answer.ending()})" if answer.ending() else ""
        return SourceFault(f"hl-smi gave no table{how}, it says: {words}", remedy, code="refused", rests=True)

    def _go_on(self, end: float) -> None:
        """Find out what the tool can do, then keep the slow values fresh, step by step until the time is over.

        Every round but the first takes one step at least, however slow the tool is.
        """
        obliged, self._is_first = not self._is_first, False
        while self._tool is not None and (obliged or self._clock() + self._tool.took < end):
            obliged = False
            try:
                next(self._steps)
            except StopIteration:
                if self._clock() < self._due:
                    return
                self._due = self._clock() + _SLOW_EVERY
                self._steps = self._slow_round(self._tool)
            except SourceFault:
                # The core set answered: what hangs here must not cost it. It is tried again with the next slow round.
                self._steps, self._due = iter(()), self._clock() + _SLOW_EVERY
                return

    def _abilities(self, tool: Tool) -> Iterator[None]:
        """Learn the optional fields: those that the help names, all where it names none; each group is tried."""
        listed = reports.fields(tool.run(["-h"], LATER_SECONDS).out)
        # An example with a few names is no list.
        names_any = sum(name in listed for name in fields.CORE) >= _LISTED
        yield
        for groups, attribute in ((fields.QUICK_GROUPS, "_quick"), (fields.SLOW_GROUPS, "_slow")):
            for group in groups:
                wanted = tuple(name for name in group if not names_any or name in listed)
                for part in (wanted, *((name,) for name in wanted if len(wanted) > 1)):
                    if not part or set(part) <= set(getattr(self, attribute)):
                        continue
                    if self._takes(tool, part):
                        setattr(self, attribute, (*getattr(self, attribute), *part))
                    yield

    def _takes(self, tool: Tool, names: Sequence[str]) -> bool:
        table, answer = self._query(tool, (*fields.IDENTITY, *names), LATER_SECONDS)
        if table is None or answer.code != 0:
            return False
        return all(name in row.cells for row in table.rows.values() if not row.fault for name in names)

    def _slow_round(self, tool: Tool) -> Iterator[None]:
        if self._slow:
            table, _ = self._query(tool, (*fields.IDENTITY, *self._slow), LATER_SECONDS)
            if table is not None:
                self._take_slow(table)
            yield
        if self._clock() < self._ports_due:
            return
        self._ports_due = self._clock() + _PORTS_EVERY
        for address, rows in reports.replaced_rows(
            tool.run(["-q", "-d", "ROW_REPLACEMENT"], LATER_SECONDS).out
        ).items():
            self._details.setdefault(address, {}).update(rows)
        yield
        outside: tuple[int, ...] = ()
        for number, address in enumerate(list(self._seen)):
            if number == 0:  # the roles of ports are the same for all cards of a machine
                outside = reports.external_ports(tool.run(["-n", "ports", "-i", address], LATER_SECONDS).out) or ()
            found = reports.ports(tool.run(["-n", "link", "-i", address], LATER_SECONDS).out, without=outside)
            if found is not None:
                self._keep(address, "links_up", ok(found.up, self.name))
                self._keep(address, "links_expected", ok(found.listed, self.name))
                self._details.setdefault(address, {})["links_down"] = list(found.down)
            yield

    # What it means

    def _take_slow(self, table: Table) -> None:
        for address, row in table.rows.items():
            if row.fault:
                continue
            for name in self._slow:
                if name in fields.NUMBERS:
                    self._keep(address, fields.NUMBERS[name].reading, fields.reading(name, table, address))
                elif name.startswith("pcie.link."):
                    self._keep(
                        address, "pcie_gen" if ".gen." in name else "pcie_width", fields.link(name, table, address)
                    )
            self._throttling(address, row.cells)

    def _throttling(self, address: str, cells: Mapping[str, str]) -> None:
        """A violation counter that grew since the last look means that the card was slowed down in between."""
        now = {}
        for policy in ("power", "thermal"):
            text = (word(cells.get(f"stats.violation.{policy}")) or "").split(" ")[0]
            if text.replace(".", "", 1).isdecimal():
                now[policy] = float(text)
        before, self._violations[address] = self._violations.get(address), now
        if not now:
            return
        if before is None:
            pending = Reading(
                ReadingStatus.PENDING, reason="the counters are compared at the next look", source=self.name
            )
            self._keep(address, "throttle_reasons", pending)
            return
        grown = [policy for policy, value in now.items() if value > before.get(policy, value)]
        self._keep(address, "throttle_reasons", ok(", ".join(grown) or "none", self.name))

    def _keep(self, address: str, name: str, reading: Reading) -> None:
        self._extra.setdefault(address, {})[name] = (reading, self._clock())

    def _device(self, table: Table, address: str) -> Device:
        cells = table.rows[address].cells
        name = word(cells.get("name"))
        module = _whole(cells.get("module_id"))
        # A line that cannot be read, or says nothing, does not vouch for the card.
        answers = bool(cells) and any(word(cells.get(metric)) for metric in fields.METRICS)
        return Device(
            key=f"pci:{address}",
            vendor="gaudi",
            torch_device="hpu",
            name=name or "Gaudi",
            index=_whole(cells.get("index")),
            module_id=module if module is not None and module < facts.MODULES else None,
            pci_address=address,
            uuid=word(cells.get("uuid")),
            serial=word(cells.get("serial")),
            driver_version=word(cells.get("driver_version")),
            memory_total_bytes=fields.memory_total(table, address),
            state=DeviceState.OPERATIONAL if answers else DeviceState.UNKNOWN,
            details={
                **({} if name else {"generic_name": True}),
                **self._details.get(address, {}),
            },
        )

    def _readings(self, table: Table, address: str, *, nothing: bool) -> dict[str, Reading]:
        row = table.rows.get(address)
        columns = {name for other in table.rows.values() for name in other.cells}
        names = [*fields.METRICS, *(name for name in self._quick if name in fields.NUMBERS and name in columns)]
        if row is None:
            gone = failed("hl-smi does not list this card any more", self.name)
            return {fields.NUMBERS[name].reading: gone for name in names}
        if row.fault:
            return {fields.NUMBERS[name].reading: failed(f"hl-smi: {row.fault}", self.name) for name in names}
        if nothing:
            return {fields.NUMBERS[name].reading: denied(fields.denied_reason(), self.name) for name in names}
        found = {fields.NUMBERS[name].reading: fields.reading(name, table, address) for name in names}
        used, total = found["memory_used_bytes"].value, fields.memory_total(table, address)
        if isinstance(used, int | float) and total is not None and used > total:
            found["memory_used_bytes"] = failed("hl-smi says more memory used than there is", self.name)
        now = self._clock()
        for name, (reading, taken) in self._extra.get(address, {}).items():
            found[name] = Reading(reading.status, reading.value, reading.reason, reading.source, max(0.0, now - taken))
        return found


def _whole(cell: str | None) -> int | None:
    text = word(cell) or ""
    return int(text) if text.isascii() and text.isdecimal() else None
