"""The streamer that takes exact times and prints text as soon as it is whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from transformers.generation.streamers import BaseStreamer

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui_worker.stopping import Stop

UNFINISHED = "\ufffd"
"""What a decoder puts in place of a character whose last bytes are still to come."""


class GenerationCutError(Exception):
    """A signal came while tokens were generated."""


class TimedStreamer(BaseStreamer):  # type: ignore[misc]  # transformers is not typed where types are checked
    """Counts tokens and takes their times for one prompt; batch size 1 only.

    The first `put` carries the prompt, each later one a new token. Time spent here is left out of the figures.
    """

    def __init__(self, tokenizer: Any, stop: Stop, write: Callable[[str], None] | None) -> None:
        """`write` gets pieces of text while they come; None prints nothing."""
        self._tokenizer = tokenizer
        self._stop = stop
        self._write = write
        self._prompt_seen = False
        self._own_seconds = 0.0
        self._printed = 0
        self._context = 0
        self.tokens: list[int] = []
        self._first = self._last = 0.0
        self._started = time.perf_counter()

    def start(self) -> None:
        """Take the time of the call to `generate`."""
        self._started = time.perf_counter()

    def put(self, value: Any) -> None:
        """Called by `generate` with token ids.

        Raises:
            GenerationCutError: this rank was asked to stop.
        """
        now = time.perf_counter()
        if self._stop.requested:
            raise GenerationCutError
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        self.tokens.extend(value.flatten().tolist())
        self._last = now - self._own_seconds
        self._first = self._first or self._last
        self._print(final=False)
        self._own_seconds += time.perf_counter() - now

    def end(self) -> None:
        """Called by `generate` after the last token."""
        self._print(final=True)

    def _print(self, *, final: bool) -> None:
        """Print what became whole. A few printed tokens are decoded again for context, as spaces depend on it."""
        if self._write is None:
            return
        before = self._decode(self.tokens[self._context : self._printed])
        text = self._decode(self.tokens[self._context :])
        if len(text) <= len(before) or (text.endswith(UNFINISHED) and not final):
            return
        self._write(text[len(before) :])
        self._context, self._printed = self._printed, len(self.tokens)

    def _decode(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def figures(self, prompt_tokens: int) -> dict[str, Any]:
        """The figures of a `generation` event; None where one token or none leaves nothing to measure."""
        first = self._first - self._started if self.tokens else None
        decode = self._last - self._first
        count = len(self.tokens)
        return {
            "prompt_tokens": prompt_tokens,
            "new_tokens": count,
            "time_to_first_token_seconds": _rounded(first),
            "prefill_tokens_per_second": _rounded(prompt_tokens / first if first else None),
            "decode_tokens_per_second": _rounded((count - 1) / decode if decode > 0 else None),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
