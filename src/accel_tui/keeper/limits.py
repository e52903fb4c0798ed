"""The resource limits of a process as one text, and their application to another: `nofile=1024:4096 core=0:-1`.

A number is soft, then hard; -1 stands for no limit. A run has the limits of whoever submits it, not those of whoever
happened to start the supervisor.
"""

from __future__ import annotations

import resource

_LIMITS = {
    "as": resource.RLIMIT_AS,
    "core": resource.RLIMIT_CORE,
    "cpu": resource.RLIMIT_CPU,
    "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "nofile": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC,
    "stack": resource.RLIMIT_STACK,
}


def own() -> str:
    """The limits of this process."""
    return " ".join(f"{name}={soft}:{hard}" for name, (soft, hard) in ((name, _get(name)) for name in _LIMITS))


def _get(name: str) -> tuple[int, int]:
    return resource.getrlimit(_LIMITS[name])


def parse(text: str) -> dict[str, tuple[int, int]]:
    """Name to soft and hard limit; what is no such entry is left out."""
    found = {}
    for entry in text.split():
        name, _, numbers = entry.partition("=")
        soft, _, hard = numbers.partition(":")
        try:
            pair = int(soft), int(hard)
        except ValueError:
            continue
        if name in _LIMITS and min(pair) >= -1 and max(pair) < 2**63:
            found[name] = pair
    return found


def apply(wanted: dict[str, tuple[int, int]]) -> list[str]:
    """Give this process these limits as far as its own hard ones allow; in words what could not be had."""
    missed = []
    for name, (soft, hard) in wanted.items():
        try:
            resource.setrlimit(_LIMITS[name], (soft, hard))
        except (OSError, ValueError):
            _, most = _get(name)
            pair = _least(soft, most), _least(hard, most)
            missed += [
                f"limit {name}: {_words(got)} in place of {_words(asked)}"
                for got, asked in ((pair[0], soft), (pair[1], hard))
                if got != asked
            ]
            try:
                resource.setrlimit(_LIMITS[name], pair)
            except (OSError, ValueError) as error:
                missed.append(f"limit {name} stays as it is: {error}")
    return missed


def _least(one: int, other: int) -> int:
    """The smaller of two limits, where -1 is the largest."""
    return other if one == -1 or (other != -1 and other < one) else one


def _words(number: int) -> str:
    return "unlimited" if number == -1 else str(number)


def raise_open_files() -> None:
    """Let this process have as many open files as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # then it has what it has
            return


def open_files() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == -1 else soft
