"""The known device sources, listed by module path without importing any of them.

A source of another distribution registers as an entry point of the group `accel_tui.sources`:

    [project.entry-points."accel_tui.sources"]
    "myvendor.sysfs" = "my_package.probe:open_source [inventory,holders]"

The name is VENDOR.SOURCE, what it gives stands where extras stand (all three when left out).
"""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass, replace

from accel_tui.devices.deadlines import Deadlines
from accel_tui.devices.presence import Presence
from accel_tui.model.devices import Problem
from accel_tui.model.places import Places

GROUP = "accel_tui.sources"
GIVES = frozenset({"inventory", "readings", "holders"})

_NAME = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class SourceEntry:
    """One registered source; the order of registration is the order of preference within a vendor."""

    vendor: str
    name: str
    module: str
    """Dotted path; imported by the probe process alone."""
    attribute: str = "open_source"
    gives: frozenset[str] = GIVES
    path: str | None = None
    """Folder that the probe adds to its module path; None for what our own interpreter finds anyway."""
    choice: str | None = None
    """Field of `Places` that names the one source whose readings count; None when there is no choice."""
    presence: Presence | None = None
    """What must be there for its probe to be started; None: always."""
    answers_to: str | None = None
    """The word of the choice that means this source, where it is not its name."""
    deadlines: Deadlines | None = None
    """Seconds that its questions have, where they are not the usual ones."""
    lists_every: float = 30.0
    """Seconds between two inventories; 0: with every round, for a source whose inventory costs nothing."""
    least_seconds: float = 0.0
    """The shortest span between two questions, for what is costly on the host's side; its first sample is one read."""
    behind: tuple[str, ...] = ()
    """Sources of the vendor that make this one's readings superfluous while they give every core reading."""
    spare_seconds: float | None = None
    """How often it is asked all the same; None: not at all."""

    @property
    def label(self) -> str:
        return f"{self.vendor}.{self.name}"


_HL_SMI = Presence(
    "",
    (),
    settings=("hl_smi",),
    programs=("hl-smi",),
    program_folders=("/usr/bin", "/usr/local/bin", "/opt/habanalabs/bin"),
)
_HLML = Presence(
    "", (), settings=("hlml_library",), paths=("/usr/lib/habanalabs/libhlml.so",), distribution="habana-pyhlml"
)
# Where library or tool are named, what the kernel shows is compared with them.
_GAUDI_SEEN = Presence(
    "0x1da3",
    ("0x12",),
    ("class/accel/accel*/device",),
    settings=("hl_smi", "hlml_library"),
    files=("module/habanalabs", "class/habanalabs"),
)
# The order is that of preference: sysfs knows identity and what is free to read; HLML before hl-smi before sensors.
GAUDI: tuple[SourceEntry, ...] = (
    SourceEntry(
        "gaudi", "sysfs", "accel_tui.vendors.gaudi.sysfs", choice="gaudi_source", presence=_GAUDI_SEEN, lists_every=0.0
    ),
    SourceEntry(
        "gaudi",
        "hlml",
        "accel_tui.vendors.gaudi.hlml",
        gives=frozenset({"inventory", "readings"}),
        choice="gaudi_source",
        presence=_HLML,
        deadlines=Deadlines(inventory=8.0, read=5.0),
        lists_every=0.0,
    ),
    SourceEntry(
        "gaudi",
        "hl-smi",
        "accel_tui.vendors.gaudi.hlsmi",
        gives=frozenset({"inventory", "readings"}),
        choice="gaudi_source",
        presence=_HL_SMI,
        deadlines=Deadlines(inventory=13.0, read=13.0),
        lists_every=0.0,
        least_seconds=2.0,
        behind=("hlml",),
        spare_seconds=30.0,
    ),
    SourceEntry(
        "gaudi",
        "hwmon",
        "accel_tui.vendors.gaudi.hwmon",
        gives=frozenset({"readings"}),
        choice="gaudi_source",
        presence=_GAUDI_SEEN,
        answers_to="sysfs",
        least_seconds=2.0,
        behind=("hlml", "hl-smi"),
    ),
)
_XPU = Presence("0x8086", ("0x0300", "0x0380"), ("class/drm/card*/device",), ("level_zero_loader",))

BUILT_IN: tuple[SourceEntry, ...] = (
    *GAUDI,
    SourceEntry("cpu", "proc", "accel_tui.vendors.cpu.probe", gives=frozenset({"inventory", "readings"})),
    SourceEntry("xpu", "sysman", "accel_tui.vendors.xpu.sysman", choice="xpu_source", presence=_XPU, lists_every=10.0),
    SourceEntry("xpu", "sysfs", "accel_tui.vendors.xpu.sysfs", choice="xpu_source", presence=_XPU, lists_every=10.0),
)
DEMO = SourceEntry("demo", "simulated", "accel_tui.vendors.demo.probe")
"""Stands alone: a simulated server shows nothing of the real one."""


def sources(places: Places) -> tuple[tuple[SourceEntry, ...], tuple[Problem, ...]]:
    """The sources to start for these places, built-in ones first, and a problem for each that cannot be registered.

    Raises:
        UsageError: `places.demo` names no simulated server.
    """
    if places.demo is not None:
        from accel_tui.vendors.demo import check_demo

        check_demo(places.demo)
        return (DEMO,), ()
    found, problems = list(BUILT_IN), []
    taken = {entry.label for entry in found}
    for point in importlib.metadata.entry_points(group=GROUP):
        entry = _outside(point)
        if entry is None or entry.label in taken:
            why = (
                "has the name of another one" if entry else "is not of the form VENDOR.SOURCE = module:function [gives]"
            )
            problems.append(
                Problem(
                    None, "source-broken", f"The device source {point.name!r} ({point.value}) is skipped: it {why}."
                )
            )
            continue
        taken.add(entry.label)
        found.append(entry)
    chosen = (_chosen(entry, places) for entry in found)
    return tuple(entry for entry in chosen if entry.gives), tuple(problems)


def _chosen(entry: SourceEntry, places: Places) -> SourceEntry:
    """The entry without its readings when settings name another source for them; the named one stands behind none."""
    wanted = getattr(places, entry.choice, "auto") if entry.choice else "auto"
    if wanted == "auto":
        return entry
    if wanted == (entry.answers_to or entry.name):
        return replace(entry, behind=(), presence=None)
    listing = entry.lists_every if entry.answers_to is None and entry.least_seconds == 0 else 30.0
    return replace(entry, gives=entry.gives - {"readings"}, behind=(), lists_every=listing)


def _outside(point: importlib.metadata.EntryPoint) -> SourceEntry | None:
    if _NAME.fullmatch(point.name) is None:
        return None
    try:
        module, attribute, extras = point.module, point.attr, frozenset(point.extras)
    except AttributeError:  # the value does not match the form of an entry point
        return None
    if not module or not extras <= GIVES:
        return None
    vendor, name = point.name.split(".", 1)
    distribution = getattr(point, "dist", None)
    path = None if distribution is None else str(distribution.locate_file(""))
    return SourceEntry(vendor, name, module, attribute or "open_source", extras or GIVES, path)
