"""The curves of one run as a pane keeps them: read from the supervisor now and then, grown from progress between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accel_tui.model.runs import Run, RunState
from accel_tui.model.times import time_seconds
from accel_tui.tui.glyphs import Glyphs, learning_rate, loss, rate
from accel_tui.tui.widgets.decimate import Point
from accel_tui.tui.widgets.pieces import Cell, Piece

POINTS = 1000
"""Asked for of each curve: more than any terminal has columns."""
AGAIN_SECONDS = 30.0
"""How often the curves of a live run are read anew."""

_FIRST = ("loss", "eval_loss", "grad_norm", "learning_rate", "tokens_per_second", "decode_tokens_per_second")
_HIDDEN = frozenset({"epoch", "eta_seconds", "steps_per_second"})
_WORDS = {"learning_rate": "lr", "tokens_per_second": "tok/s", "decode_tokens_per_second": "tok/s"}
_GROWN = ("loss", "learning_rate", "tokens_per_second")


class Curves:
    """Points of each figure of one run in the order of time."""

    def __init__(self) -> None:
        self.run: str | None = None
        """The id of the run that they are of."""
        self._points: dict[str, list[Point]] = {}
        self._steps: dict[str, list[float | None]] = {}
        self._read_at: float | None = None
        self._ended = False
        self._step: int | None = None

    def follow(self, run: Run | None, now: float) -> bool:
        """Take in what the board knows of a run; True when the curves should be read."""
        identifier = None if run is None else run.id
        if identifier != self.run:
            self.__init__()  # type: ignore[misc] # another run: nothing of the old one holds
            self.run = identifier
        if run is None or run.started is None:
            return False
        self._grow(run, now)
        ended = run.state is RunState.FINISHED
        if self._read_at is None or ended != self._ended or (not ended and now - self._read_at > AGAIN_SECONDS):
            self._read_at, self._ended = now, ended
            return True
        return False

    def _grow(self, run: Run, now: float) -> None:
        """The newest figures, once for every step."""
        seen = run.progress
        if seen.step is None or seen.step == self._step or run.state is RunState.FINISHED:
            return
        self._step = seen.step
        for name in _GROWN:
            value = getattr(seen, name)
            known = self._points.setdefault(name, [])
            if value is not None and (not known or known[-1][0] < now):
                known.append((now, float(value)))
                self._steps.setdefault(name, []).append(float(seen.step))

    def load(self, identifier: str, series: Sequence[Mapping[str, Any]]) -> None:
        """Take what the supervisor answered about a run, unless another is followed by now."""
        if identifier != self.run:
            return
        for one in series:
            name = str(one["name"])
            points = [(time_seconds(str(point[0])), point[2], point[1]) for point in one["points"]]
            self._points[name] = [(time, value) for time, value, _ in points]
            self._steps[name] = [step for *_, step in points]

    def names(self) -> list[str]:
        """Figures that have points, the most telling first."""
        known = [name for name, points in self._points.items() if points and name not in _HIDDEN]
        return sorted(known, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))

    def points(self, name: str) -> tuple[Point, ...]:
        """Time (seconds since the epoch) and value; None where it was not finite."""
        return tuple(self._points.get(name, ()))

    def last(self, name: str) -> float | None:
        """The newest value that is a number."""
        return next((value for _, value in reversed(self._points.get(name, ())) if value is not None), None)

    def at(self, name: str, moment: float) -> tuple[float | None, float | None]:
        """The value of a moment and its step: that of the last point before it."""
        found: tuple[float | None, float | None] = (None, None)
        for (time, value), step in zip(self._points.get(name, ()), self._steps.get(name, ()), strict=False):
            if time > moment:
                break
            found = (value, step)
        return found


def label(name: str) -> str:
    """A figure in one or two words."""
    return _WORDS.get(name, name.replace("_", " "))


def text(name: str, value: float) -> str:
    """A value as its figure is written."""
    if name == "learning_rate":
        return learning_rate(value)
    if "loss" in name:
        return loss(value)
    return rate(value)


def figures(curves: Curves, chosen: str, glyphs: Glyphs, moment: float | None = None) -> Cell:
    """The newest values in a row, the chosen figure first; with `moment` also its value there."""
    pieces: list[Piece] = []
    names = [chosen, *(name for name in curves.names() if name != chosen)]
    for name in names:
        value = curves.last(name)
        if value is None:
            continue
        pieces += [Piece(f"{label(name)} ", "muted"), Piece(text(name, value), "strong" if name == chosen else "text")]
        if name == chosen and moment is not None:
            there, step = curves.at(name, moment)
            pieces += [Piece("   at cursor ", "muted"), Piece(_absent(name, there, glyphs), "accent")]
            pieces += [] if step is None else [Piece(f" step {int(step)}", "muted")]
        pieces.append(Piece("   "))
    return tuple(pieces[:-1])


def _absent(name: str, value: float | None, glyphs: Glyphs) -> str:
    return glyphs.text("absent") if value is None else text(name, value)
