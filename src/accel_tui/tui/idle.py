"""Since when a held card has done nothing."""

from __future__ import annotations

from accel_tui.tui.board import Board
from accel_tui.tui.standing import number

IDLE_SECONDS = 60.0
"""A held card without work for so long is worth a word; shorter pauses are normal."""
HELD_BYTES = 1 << 30
"""Below this nothing worth mentioning is held."""


class IdleWatch:
    """Remembers when each held card was last seen at work, as long as this screen is open."""

    def __init__(self) -> None:
        self._idle: dict[str, float] = {}

    def look(self, board: Board) -> None:
        """Take a picture in."""
        seen = {}
        for view in board.devices:
            utilization = number(view.readings.get("utilization_percent"))
            memory = number(view.readings.get("memory_used_bytes"))
            held = bool(view.holders) and memory is not None and memory > HELD_BYTES
            if held and utilization is not None and utilization < 1:
                seen[view.device.key] = self._idle.get(view.device.key, board.now)
        self._idle = seen

    def since(self, key: str, now: float | None = None) -> float | None:
        """Since when it is idle, once that is long enough to be worth a word."""
        start = self._idle.get(key)
        return start if start is not None and (now is None or now - start >= IDLE_SECONDS) else None
