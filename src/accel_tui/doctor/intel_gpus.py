"""Intel GPUs in full: how Sysman can be asked and with which rights, and what `xpu-smi` says beside it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.doctor.host import Host, passed, unknown, warning
from accel_tui.model.devices import DeviceView, ReadingStatus
from accel_tui.text import sanitise
from accel_tui.vendors.xpu import smi
from accel_tui.vendors.xpu.cards import find

if TYPE_CHECKING:
    from accel_tui.model.plans import Check

_TOOL = "xpu-smi"
_TOOL_SECONDS = 4.0
_SURVEY_SECONDS = 2.5
_FOLDERS = ("/usr/bin", "/usr/local/bin", "/opt/intel/bin")
_CLOSE_BYTES = 512 << 20
"""The tool of 1.x takes some 200 MB of a card while it runs, and jobs allocate between two looks."""


def rights(host: Host) -> Iterator[Check]:
    """Which readings of the cards need a right that this account lacks, once for each reason."""
    if host.demo is not None or not find(Path(host.settings.sysfs_root)):
        return
    views = _views(host)
    reasons: dict[str, dict[str, None]] = {}
    answered = False
    for view in views.values():
        for name, reading in view.readings.items():
            answered |= reading.status is ReadingStatus.OK and reading.source == "sysman"
            if reading.status is ReadingStatus.DENIED:
                reasons.setdefault(reading.reason or "a right is missing", {})[name] = None
    remedy = "an administrator can give the right; accel-tui never asks for it by itself"
    for reason, names in reasons.items():
        yield warning("xpu-rights", f"{', '.join(names)}: {sanitise(reason)}", remedy)
    if not reasons and answered:
        yield passed("xpu-rights", "Level Zero Sysman gives every reading that the Intel GPUs have")


def cross_check(host: Host) -> Iterator[Check]:
    """Whether `xpu-smi` lists the same cards, and says the same of their memory."""
    known = {card.address for card in find(Path(host.settings.sysfs_root))}
    tool = _tool(host)
    if host.demo is not None or (not known and host.settings.xpu_smi is None) or tool is None:
        return
    try:
        listing = smi.discovery(_run(host, tool, "discovery", "-j"))
        named = smi.version(_run(host, tool, "-v")) or listing.line or "of unknown version"
    except smi.Refused as why:
        yield unknown(_TOOL, f"{tool} is no cross-check: {sanitise(str(why))}", "its JSON of 1.x and 2.x is understood")
        return
    yield from _compared(known, listing, f"{_TOOL} {named}")
    yield from _figures(host, tool, listing)


def _compared(known: set[str], listing: smi.Listing, tool: str) -> Iterator[Check]:
    listed = {card.address for card in listing.cards if card.address is not None}
    if listed == known:
        yield passed(_TOOL, f"{tool} lists the same {len(known)} cards")
        return
    unseen, more = sorted(known - listed), sorted(listed - known)
    words = [f"does not list {', '.join(unseen)}"] if unseen else []
    words += [f"lists {', '.join(more)}, which sysfs does not show"] if more else []
    remedy = "cards in the firmware's recovery mode, without a node or without rights are listed by one side alone"
    yield warning(_TOOL, f"{tool} {' and '.join(words)}", remedy)


def _figures(host: Host, tool: str, listing: smi.Listing) -> Iterator[Check]:
    """Memory in use, of the cards that the tool can be asked for by number."""
    views: Mapping[str, DeviceView] | None = None
    for card in listing.cards[:8]:
        if card.number is None or card.address is None:
            continue
        try:
            figures = smi.stats(_run(host, tool, "stats", "-d", str(card.number), "-j"))
        except smi.Refused as why:
            yield unknown("xpu-smi-stats", f"{_TOOL} stats of {card.address}: {sanitise(str(why))}")
            return
        views = _views(host) if views is None else views
        theirs = figures.values.get("memory_used_bytes")
        view = views.get(f"pci:{card.address}")
        reading = None if view is None else view.readings.get("memory_used_bytes")
        ours = None if reading is None or reading.status is not ReadingStatus.OK else reading.value
        if theirs is None or not isinstance(ours, int | float):
            continue
        message = f"memory in use on {card.address}: {_TOOL} {theirs / smi.MIB:.0f} MiB, here {ours / smi.MIB:.0f} MiB"
        source = "" if reading is None else f" ({reading.source})"
        if abs(theirs - ours) <= _CLOSE_BYTES:
            yield passed("xpu-smi-stats", message + source)
        else:
            yield warning("xpu-smi-stats", message + source, "one of the two may see only its own account's processes")


def _views(host: Host) -> dict[str, DeviceView]:
    from accel_tui.devices.registry import BUILT_IN
    from accel_tui.devices.survey import survey

    entries = [entry for entry in BUILT_IN if entry.vendor == "xpu"]
    inventory = survey(host.settings, environment=host.environment, entries=entries, seconds=_SURVEY_SECONDS)
    return {view.device.key: view for view in inventory.devices}


def _tool(host: Host) -> str | None:
    named = host.settings.xpu_smi
    if named is not None and "/" in named:
        return named
    folders = (*host.environment.get("PATH", os.defpath).split(os.pathsep), *_FOLDERS)
    return shutil.which(named or _TOOL, path=os.pathsep.join(folders)) or named


def _run(host: Host, tool: str, *arguments: str) -> str:
    """What the tool prints on standard output, whatever its exit code: errors are JSON too.

    Raises:
        Refused: it cannot be started, or does not end in time; then it is ended with all that it started.
    """
    try:
        process = subprocess.Popen(
            [tool, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(host.environment),
            start_new_session=True,
        )
    except OSError as error:
        raise smi.Refused(f"it cannot be started: {error.strerror or error}") from None
    try:
        answer, _ = process.communicate(timeout=_TOOL_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise smi.Refused(f"{' '.join(arguments)} did not end within {_TOOL_SECONDS:g} s") from None
    return answer.decode("utf-8", "replace")
