"""What this account's processes may use of the host: control group limits, versions 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from accel_tui.vendors.cpu.files import number_or_none, text_or_none

if TYPE_CHECKING:
    from collections.abc import Iterator

# Version 1 writes "no limit" as the greatest multiple of a page, which differs between kernels.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class Limits:
    """The tightest limits on the way up from our own control group; None where there is none."""

    cores: float | None = None
    memory_bytes: int | None = None
    memory_folder: Path | None = None
    """The control group whose memory limit counts."""


def limits(proc_root: Path, sysfs_root: Path) -> Limits:
    """Read the limits that hold for this process."""
    cores: float | None = None
    memory: int | None = None
    folder_of_memory: Path | None = None
    for controllers, path in _memberships(proc_root):
        for folder in _folders(sysfs_root / "fs" / "cgroup", controllers, path):
            quota = _quota(folder)
            if quota is not None:
                cores = quota if cores is None else min(cores, quota)
            limit = _memory(folder)
            if limit is not None and (memory is None or limit < memory):
                memory, folder_of_memory = limit, folder
    return Limits(cores, memory, folder_of_memory)


def memory_used(folder: Path) -> int | None:
    """Bytes that count against a control group's limit and cannot simply be dropped (its cold file cache can)."""
    used = number_or_none(folder / "memory.current")
    inactive = "inactive_file"
    if used is None:
        used, inactive = number_or_none(folder / "memory.usage_in_bytes"), "total_inactive_file"
    if used is None:
        return None
    for line in (text_or_none(folder / "memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == inactive and value.isdecimal():
            return max(0, used - int(value))
    return used


def _memberships(proc_root: Path) -> Iterator[tuple[str, str]]:
    """Pairs of controllers ("" for version 2) and path inside the hierarchy."""
    for line in (text_or_none(proc_root / "self" / "cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        yield controllers, path


def _folders(mount: Path, controllers: str, path: str) -> Iterator[Path]:
    """Our own control group and all above it. In a container its path may lie outside of what is mounted."""
    for root in _roots(mount, controllers):
        if not root.is_dir():
            continue
        inside = PurePosixPath(path.lstrip("/"))
        if ".." in inside.parts:
            inside = PurePosixPath()
        for part in (inside, *inside.parents):
            folder = root / part
            if folder.is_dir():
                yield folder
        return


def _roots(mount: Path, controllers: str) -> tuple[Path, ...]:
    if not controllers:
        return (mount, mount / "unified")
    if not {"cpu", "memory"} & set(controllers.split(",")):
        return ()
    return (mount / controllers, *(mount / name for name in controllers.split(",")))


def _quota(folder: Path) -> float | None:
    stated = text_or_none(folder / "cpu.max")
    if stated is not None:
        quota, _, period = stated.partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            return int(quota) / int(period)
        return None
    quota_us, period_us = number_or_none(folder / "cpu.cfs_quota_us"), number_or_none(folder / "cpu.cfs_period_us")
    if quota_us is None or period_us is None or quota_us <= 0 or period_us <= 0:
        return None
    return quota_us / period_us


def _memory(folder: Path) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        limit = number_or_none(folder / name)
        if limit is not None and 0 < limit < _NO_LIMIT:
            return limit
    return None
