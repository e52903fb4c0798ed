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

    @property
    def label(self) -> str:
        return f"{self.vendor}.{self.name}"


BUILT_IN: tuple[SourceEntry, ...] = (
    SourceEntry("cpu", "proc", "accel_tui.vendors.cpu.probe", gives=frozenset({"inventory", "readings"})),
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
    return tuple(_chosen(entry, places) for entry in found), tuple(problems)


def _chosen(entry: SourceEntry, places: Places) -> SourceEntry:
    """The entry without its readings when settings name another source for them."""
    wanted = getattr(places, entry.choice, "auto") if entry.choice else "auto"
    return entry if wanted in ("auto", entry.name) else replace(entry, gives=entry.gives - {"readings"})


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
