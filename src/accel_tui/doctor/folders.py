"""The folders that runs depend on: state, locks, records, space."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.config.state import REMEDY
from accel_tui.doctor.host import Host, passed, refusal, unknown, warning
from accel_tui.jobs import space
from accel_tui.keeper.locks import FOLDERS, LockFolderError, open_folder
from accel_tui.model.runs import Cause
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accel_tui.model.plans import Check

_NETWORK = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "lustre", "beegfs", "gpfs", "ceph", "afs", "fuse.glusterfs")
_NAMED = 5


def state_folder(host: Host) -> Iterator[Check]:
    """Judged without being touched; its locks are proved when it is first used."""
    path = host.state
    try:
        status = path.lstat()
    except FileNotFoundError:
        yield _missing(path)
        return
    except OSError as error:
        yield refusal("state-folder", f"{path} cannot be looked at: {error.strerror}", REMEDY)
        return
    if stat.S_ISLNK(status.st_mode):
        yield refusal("state-folder", f"{path} is a symbolic link", REMEDY)
    elif not stat.S_ISDIR(status.st_mode):
        yield refusal("state-folder", f"{path} is not a folder", REMEDY)
    elif status.st_uid != os.geteuid():
        yield refusal("state-folder", f"{path} belongs to {_user(status.st_uid)}, not to you", REMEDY)
    elif not os.access(path, os.W_OK | os.X_OK):
        yield refusal("state-folder", f"{path} cannot be written", REMEDY)
    elif status.st_mode & 0o077:
        message = f"{path} is open to others (mode {stat.S_IMODE(status.st_mode):04o}); the next start closes it"
        yield warning("state-folder", message, f"chmod 700 {path}")
    else:
        yield passed("state-folder", str(path))
    kind = _file_system(path)
    if kind.startswith(_NETWORK):
        yield warning("state-folder-network", f"{path} lies on a network file system ({kind})", REMEDY)


def lock_folder(host: Host) -> Iterator[Check]:
    """Whether device locks can be trusted; without them runs that need cards are refused."""
    configured = str(host.state / "locks") if host.demo else host.settings.lock_dir
    for folder in (configured,) if configured else FOLDERS:
        if not os.path.lexists(folder):
            continue
        try:
            descriptor = open_folder(folder)
        except LockFolderError as error:
            remedy = "set ACCEL_TUI_LOCK_DIR to a folder of root, or to one of your own"
            yield refusal("lock-folder", f"{error}; runs that need cards are refused", remedy)
            return
        status = os.fstat(descriptor)
        os.close(descriptor)
        mode = stat.S_IMODE(status.st_mode)
        yield passed("lock-folder", f"{folder}, of {_user(status.st_uid)}, mode {mode:04o}")
        return
    wanted = configured or FOLDERS[0]
    yield passed("lock-folder", f"{wanted} is made by the first run that needs a card")


def run_records(host: Host) -> Iterator[Check]:
    """Run folders that cannot be read; each is listed as lost, and nothing else suffers."""
    from accel_tui.store.folders import RunFolders

    folders = RunFolders(host.state / "runs")
    identifiers = folders.ids()
    damaged = []
    for identifier in reversed(identifiers):
        run = folders.read_run(identifier)
        if run.cause is Cause.RECORD_DAMAGED:
            damaged.append((identifier, run.diagnosis.summary if run.diagnosis else "unreadable"))
    if not damaged:
        yield passed("run-records", f"{len(identifiers)} runs, none damaged")
    for identifier, why in damaged[:_NAMED]:
        message = f"the record of run {identifier} is damaged: {sanitise(why, limit=300)}"
        yield warning(
            "run-records", message, f"look into {folders.path(identifier)}, or: accel-tui remove {identifier}"
        )
    if len(damaged) > _NAMED:
        yield warning("run-records", f"{len(damaged) - _NAMED} more records are damaged")


def free_space(host: Host) -> Iterator[Check]:
    least = host.settings.minimum_free_bytes
    places = {"free-space": host.state}
    if host.settings.artefacts_root:
        places["free-space-artefacts"] = Path(host.settings.artefacts_root)
    for name, place in places.items():
        existing = space.nearest(place)
        try:
            found = os.statvfs(existing)
        except OSError as error:
            yield unknown(name, f"{existing}: {error.strerror}")
            continue
        words = space.shortage(place, least)
        if words is not None:
            yield refusal(name, words, space.REMEDY)
        else:
            yield passed(name, f"{space.size(found.f_bavail * found.f_frsize)} free for {place}")


def _missing(path: Path) -> Check:
    existing = space.nearest(path)
    if os.access(existing, os.W_OK | os.X_OK):
        return passed("state-folder", f"{path} is made by the first run")
    return refusal("state-folder", f"{path} cannot be made: {existing} cannot be written", REMEDY)


def _file_system(path: Path) -> str:
    """The type of the file system that `path` would lie on; empty when it cannot be told."""
    target = os.path.realpath(space.nearest(path))
    best, kind = "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text(errors="replace")
    except OSError:
        return ""
    for line in mounts.splitlines():
        _, point, found, *_ = (*line.split(), "", "", "")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, found
    return kind


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
