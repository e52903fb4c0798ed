"""A log in memory."""

from __future__ import annotations


class FakeSource:
    """Bytes that may grow, or be replaced."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.generation = 0

    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]

    def hole_end(self, offset: int) -> int:
        return offset

    def replace(self, data: bytes) -> None:
        """Other bytes in the same place."""
        self.data = data
        self.generation += 1
