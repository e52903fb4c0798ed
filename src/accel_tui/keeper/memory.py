"""Whether the kernel killed for lack of memory in our control group."""

from __future__ import annotations


class Kills:
    """A count of kills for lack of memory, as far as the control group tells it."""

    def __init__(self, cgroups: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> None:
        self._file = _counter(cgroups, root)
        self._before = self._read()

    @property
    def readable(self) -> bool:
        """Whether there is a count at all."""
        return self._before is not None

    def happened(self) -> bool:
        """Whether the count has grown since this was made."""
        now = self._read()
        return now is not None and self._before is not None and now > self._before

    def _read(self) -> int | None:
        if self._file is None:
            return None
        try:
            with open(self._file, "rb") as file:
                for line in file:
                    name, _, value = line.partition(b" ")
                    if name == b"oom_kill":
                        return int(value)
        except (OSError, ValueError):
            return None
        return None


def _counter(cgroups: str, root: str) -> str | None:
    """The file with the line `oom_kill N`: of the unified hierarchy, else of the memory controller of the old one."""
    try:
        with open(cgroups, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return None
    found = None
    for fields in lines:
        if len(fields) != 3:
            continue
        _, controllers, path = fields
        if "memory" in controllers.split(","):
            return f"{root}/memory{path.rstrip('/')}/memory.oom_control"
        if not controllers:
            found = f"{root}{path.rstrip('/')}/memory.events"
    return found
