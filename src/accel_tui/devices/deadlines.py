"""How long a probe process may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deadlines:
    """Seconds that a probe has; a start includes the import of a vendor's library."""

    start: float = 5.0
    inventory: float = 4.0
    read: float = 3.0
    holders: float = 3.0
