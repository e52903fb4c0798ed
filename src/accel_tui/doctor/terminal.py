"""What the terminal can show."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from accel_tui.doctor.host import Host, passed, warning
from accel_tui.text import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accel_tui.model.plans import Check

_LEAST = (80, 24)


def look(host: Host) -> Iterator[Check]:
    environment = host.environment
    term = sanitise(environment.get("TERM", ""), limit=60)
    size = _size()
    if size is None:
        yield passed("terminal", "no terminal here; the screen needs one, the verbs do not")
    elif term in ("", "dumb"):
        yield warning("terminal", f"TERM is {term or 'not set'}: the screen is not drawn", "export TERM=xterm-256color")
    elif size[0] < _LEAST[0] or size[1] < _LEAST[1]:
        message = f"{size[0]} by {size[1]} characters; the screen is laid out for 80 by 24 and more"
        yield warning("terminal", message, "make the window larger")
    else:
        yield passed("terminal", f"{term}, {size[0]} by {size[1]}, {_colours(environment, term)}")
    yield _text(environment)
    if environment.get("TMUX"):
        message = "inside tmux: copying reaches the clipboard only when tmux passes it on (OSC 52)"
        yield passed("terminal-tmux", f"{message}: set -g set-clipboard on")


def _size() -> tuple[int, int] | None:
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        try:
            return tuple(os.get_terminal_size(stream.fileno()))  # type: ignore[union-attr, return-value]
        except (AttributeError, OSError, ValueError):  # closed, replaced, or no terminal
            continue
    return None


def _colours(environment: Mapping[str, str], term: str) -> str:
    if environment.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environment.get("COLORTERM") in ("truecolor", "24bit") or term.endswith("-direct"):
        return "all colours"
    return "256 colours" if "256color" in term else "16 colours"


def _text(environment: Mapping[str, str]) -> Check:
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if "utf8" in locale.lower().replace("-", ""):
        return passed("terminal-text", f"UTF-8 ({sanitise(locale, limit=60)})")
    shown = sanitise(locale, limit=60) or "not set"
    return warning("terminal-text", f"the locale is {shown}: ASCII stands in for symbols", "export LC_CTYPE=C.UTF-8")
