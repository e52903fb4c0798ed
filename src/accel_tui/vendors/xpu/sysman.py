"""The source `xpu.sysman`: Level Zero Sysman through pyzes, in a probe process of its own.

`zesInit` caches its first result for the life of the process, and so does the driver: a card that can be opened later
is seen by a new process alone, so this one then ends itself and is started anew by its parent.
Sysman ignores masks, hierarchy and order; its numbering is worth nothing and every card is known by its PCI address.
"""

from __future__ import annotations

import contextlib
import functools
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.model.devices import Device, DeviceState, Holder, Problem, Reading, ReadingStatus, SourceFault, failed
from accel_tui.vendors.xpu import ids, loader, results
from accel_tui.vendors.xpu.calls import WHOLE, call, listed
from accel_tui.vendors.xpu.cards import find
from accel_tui.vendors.xpu.clients import Processes
from accel_tui.vendors.xpu.identity import STATES, Unnamed, identify
from accel_tui.vendors.xpu.lanes import Hung, Lanes
from accel_tui.vendors.xpu.metered import MeteredCard
from accel_tui.vendors.xpu.nodes import access, state
from accel_tui.vendors.xpu.results import SOURCE, SUCCESS

if TYPE_CHECKING:
    from accel_tui.model.places import Places
    from accel_tui.vendors.xpu.load import Scoped

_LIST_SECONDS, _READ_SECONDS, _HOLDERS_SECONDS = 1.2, 1.2, 1.0
"""For all cards together, below the deadlines of the probe: a card that takes longer is left out of the answer."""
_TRY_SECONDS = 1.5
_SOURCE_FOLDER = str(Path(__file__).resolve().parents[3])
_TRY = (
    "import sys; sys.path.insert(0, {path!r}); from accel_tui.vendors.xpu.sysman import sees_cards; "
    "sys.exit(not sees_cards(sys.argv[1] or None))"
)
_SYSMAN = "Level Zero Sysman, which tells utilization, memory and more,"
_CORE = ("utilization_percent", "memory_used_bytes", "power_watts", "temperature_celsius")


def open_source(places: Places) -> SysmanSource:
    """The source for these places; nothing is loaded before the first question."""
    return SysmanSource(places)


class SysmanSource:
    """Every card of every Level Zero driver that this account can open."""

    name = SOURCE
    vendor = "xpu"

    def __init__(self, places: Places) -> None:
        self._places = places
        self._root, self._dev = Path(places.sysfs_root), Path(places.dev_root)
        self._processes = Processes(Path(places.proc_root), self._dev)
        self._lanes = Lanes()
        self._z: Any = None
        self._handles: list[tuple[str, Any]] = []
        """Every device handle of every driver, with the name of its lane."""
        self._init_code = SUCCESS
        self._cards: dict[str, MeteredCard] = {}
        self._lane_of: dict[str, str] = {}
        self._opened: frozenset[str] = frozenset()
        """Cards that could be opened when Sysman started."""
        self._untold: dict[str, str] = {}
        """Cards that open and that no handle names, with why."""

    def inventory(self) -> tuple[list[Device], list[Problem]]:
        """The cards by PCI address with their tiles.

        Raises:
            SourceFault: there is no library that can be asked, or it lists nothing; with the way out.
        """
        if self._z is None:
            self._start()
        elif not self._handles and _fresh_process_sees_cards(self._places.level_zero_loader):
            sys.exit("Sysman is started anew: it lists cards now")
        self._end_where_more_is_to_see()
        left, problems = self._look()
        devices = [device for card in self._cards.values() for device in _devices(card)]
        if not devices and not problems:
            raise self._nothing()
        return sorted([*devices, *left], key=lambda device: device.key), problems

    def read(self) -> dict[str, dict[str, Reading]]:
        """Readings of every card and tile; rates are over the time since the last call."""
        answers = self._lanes.each(self._tasks(lambda card: card.read), _READ_SECONDS)
        readings: dict[str, dict[str, Reading]] = {}
        for key, card in self._cards.items():
            answer = answers[self._lane_of[key]]
            if isinstance(answer, Exception):
                answer = {WHOLE: dict.fromkeys(_CORE, failed(_fault(answer), SOURCE))}
            readings |= _by_key(key, answer, len(card.identity.tile_uuids))
        untold = {key: dict.fromkeys(_CORE, failed(why, SOURCE)) for key, why in self._untold.items()}
        return readings | untold

    def holders(self) -> dict[str, list[Holder]]:
        """Processes that the driver names, our own probes left out."""
        answers = self._lanes.each(self._tasks(lambda card: card.pids), _HOLDERS_SECONDS)
        found: dict[str, list[Holder]] = {}
        for key in self._cards:
            pids = answers[self._lane_of[key]]
            held = [] if isinstance(pids, Exception) else [self._processes.holder(pid) for pid in pids]
            found[key] = [holder for holder in held if holder is not None]
        return found

    def _tasks(self, of: Callable[[MeteredCard], Callable[[], Any]]) -> list[tuple[str, Callable[[], Any]]]:
        return [(self._lane_of[key], of(card)) for key, card in self._cards.items()]

    def _start(self) -> None:
        """Load the library and start Sysman.

        Raises:
            SourceFault: the library cannot be loaded.
        """
        try:
            z = loader.load(self._places.level_zero_loader)
        except loader.Unavailable as why:
            message = f"{_SYSMAN} cannot be asked: {why.message}"
            raise SourceFault(message, why.remedy, code=why.code, rests=True) from None
        _allow_descriptors()
        self._opened = self._openable()
        self._init_code = call(z.zesInit, 0)
        self._z = z
        if self._init_code == SUCCESS:
            self._handles = _devices_of_all_drivers(z)

    def _look(self) -> tuple[list[Device], list[Problem]]:
        """Identify what is not known yet and look again at what is; one lane for each handle.

        Returns a card that tells nothing but that it is lost, and what is to be said.
        """
        lanes = {self._lane_of[key]: card for key, card in self._cards.items()}
        tasks: list[tuple[str, Callable[[], Any]]] = [
            (lane, lanes[lane].check if lane in lanes else functools.partial(self._identified, handle))
            for lane, handle in self._handles
        ]
        unnamed: list[tuple[str, Exception]] = []
        problems: list[Problem] = []
        for lane, answer in self._lanes.each(tasks, _LIST_SECONDS).items():
            if isinstance(answer, MeteredCard):
                if answer.identity.key not in self._cards:  # a second driver may list the same card
                    self._cards[answer.identity.key], self._lane_of[answer.identity.key] = answer, lane
            elif isinstance(answer, Exception) and lane in lanes:
                problems.append(_silent(lanes[lane].identity.address, _fault(answer)))
            elif isinstance(answer, Exception):
                unnamed.append((lane, answer))
        for card in self._cards.values():
            if card.state is not DeviceState.OPERATIONAL:
                problems.append(_silent(card.identity.address, results.words(card.identity.code)))
        left = self._left_over(unnamed)
        for lane, error in unnamed:
            at = left[0].pci_address if len(left) == 1 else f"a device without an address ({lane})"
            problems.append(_silent(str(at), _fault(error)))
        return left, problems

    def _left_over(self, unnamed: list[tuple[str, Exception]]) -> list[Device]:
        """The cards behind handles that tell no address: those that sysfs shows and no other handle is.

        Of several nobody can tell which is which: they share what is said, and a state where all of them have it.
        """
        missing = {card.key: card for card in find(self._root) if card.key in self._opened - set(self._cards)}
        words = "; ".join(dict.fromkeys(_fault(error) for _, error in unnamed))
        if len(unnamed) < len(missing):
            unlisted = "Level Zero does not list this card: the installed driver may be too old, or too new, to know it"
            may_be = f"Level Zero does not name this card, and lists {len(unnamed)} without an address: {words}"
            self._untold = dict.fromkeys(missing, may_be if unnamed else unlisted)
            return []
        self._untold = dict.fromkeys(missing, words)
        states = {STATES.get(getattr(error, "code", SUCCESS), DeviceState.UNKNOWN) for _, error in unnamed}
        shared = states.pop() if len(states) == 1 else DeviceState.UNKNOWN
        return [
            Device(key, "xpu", "xpu", ids.name(card.product.device), pci_address=card.address, state=shared)
            for key, card in missing.items()
        ]

    def _identified(self, handle: Any) -> MeteredCard | None:
        identity = identify(self._z, handle)
        return None if identity is None else MeteredCard(self._z, handle, identity)

    def _openable(self) -> frozenset[str]:
        found = ((card, access(card, self._dev)) for card in find(self._root))
        return frozenset(card.key for card, how in found if state(card, how) is DeviceState.OPERATIONAL)

    def _end_where_more_is_to_see(self) -> None:
        """End this process when a card can be opened that could not be when Sysman started."""
        new = self._openable() - self._opened - set(self._cards)
        if new:
            sys.exit(f"Sysman is started anew: {', '.join(sorted(new))} can be opened since")

    def _nothing(self) -> SourceFault:
        """Sysman lists no GPU, and cannot tell a missing right from a missing driver: whether nodes open decides."""
        code = self._init_code
        what = "lists no GPU" if code == SUCCESS else f"did not start: {results.words(code)}"
        if self._opened:
            remedy = "Install the GPU's Level Zero driver (package libze-intel-gpu1 or intel-level-zero-gpu)."
        elif any(access(card, self._dev).opens is False for card in find(self._root)):
            remedy = "No render node opens for this account: become a member of the group render, then log in anew."
        else:
            remedy = "No render node is there: the driver xe or i915 makes it; a container must be given /dev/dri."
        return SourceFault(
            f"Level Zero Sysman, which tells utilization, memory and more, {what}",
            remedy,
            code="sees-nothing",
            rests=True,
        )


def sees_cards(setting: str | None) -> bool:
    """Whether Sysman lists any device in this process; for a process of its own that asks nothing else."""
    try:
        z = loader.load(setting)
    except loader.Unavailable:
        return False
    return call(z.zesInit, 0) == SUCCESS and bool(_devices_of_all_drivers(z))


def _fresh_process_sees_cards(setting: str | None) -> bool:
    """What a start of Sysman would bring now, as in this process its first result is kept for good."""
    argv = [sys.executable, "-I", "-c", _TRY.format(path=_SOURCE_FOLDER), setting or ""]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_TRY_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _allow_descriptors() -> None:
    """As many open files as this account may have: each engine takes two, so eight cards exceed the usual limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _devices_of_all_drivers(z: Any) -> list[tuple[str, Any]]:
    _, drivers = listed(z.zesDriverGet, z.zes_driver_handle_t)
    found = []
    for number, driver in enumerate(drivers):
        _, handles = listed(z.zesDeviceGet, z.zes_device_handle_t, driver)
        found += [(f"driver {number} device {index}", handle) for index, handle in enumerate(handles)]
    return found


def _devices(card: MeteredCard) -> list[Device]:
    """The card and, behind it, its tiles."""
    known = card.identity
    details: dict[str, Any] = {"ecc": known.ecc, "driver_module_hash": known.module_hash}
    if known.device is not None:
        details["pci_id"] = f"{ids.VENDOR:04x}:{known.device:04x}"
    details["integrated"] = known.integrated
    if known.code == SUCCESS:
        details["tiles"] = max(1, len(known.tile_uuids))
    if known.code == results.RECOVERY:
        details["recovery"] = True
    details = {name: value for name, value in details.items() if value is not None}
    name = known.name or ids.name(known.device)
    if known.name is None and known.device is None:  # sysfs knows the id
        details["generic_name"] = True
    whole = Device(
        key=known.key,
        vendor="xpu",
        torch_device="xpu",
        name=name,
        pci_address=known.address,
        uuid=known.uuid,
        serial=known.serial,
        driver_version=known.driver_version,
        memory_total_bytes=card.memory.get(WHOLE),
        state=card.state,
        details=details,
    )
    shared = {key: value for key, value in details.items() if key != "tiles"}
    tiles = [
        Device(
            key=f"{known.key}#{tile}",
            vendor="xpu",
            torch_device="xpu",
            name=f"{name}, tile {tile}",
            pci_address=known.address,
            uuid=uuid,
            driver_version=known.driver_version,
            memory_total_bytes=card.memory.get(tile),
            state=card.state,
            details={**shared, "tile": tile, "card": known.key},
        )
        for tile, uuid in enumerate(known.tile_uuids)
    ]
    return [whole, *tiles]


def _silent(address: str, why: str) -> Problem:
    remedy = "The kernel log says more; a lost card needs a reset or a reboot."
    return Problem("xpu", "card-silent", f"Level Zero: {address}: {why}.", remedy)


def _by_key(key: str, scoped: Scoped, tiles: int) -> dict[str, dict[str, Reading]]:
    """Readings of the card and its tiles; what a tile lacks for a reason that holds for the whole card, it says so."""
    whole = scoped.get(WHOLE, {})
    reasons = {name: whole[name] for name in _CORE if name in whole and whole[name].status is not ReadingStatus.OK}
    found = {key: dict(whole)}
    for tile in range(tiles):
        found[f"{key}#{tile}"] = {**reasons, **scoped.get(tile, {})}
    return found


def _fault(error: Exception) -> str:
    if isinstance(error, Unnamed | Hung):
        return str(error)
    return f"{type(error).__name__}: {error}"
