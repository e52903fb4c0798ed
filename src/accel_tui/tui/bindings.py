"""The one table of keys: foot line, help, palette, dialogs and the person's keymap all follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from textual.binding import Binding, BindingType

GROUPS = ("Devices", "Jobs and runs", "Lists", "Log and charts", "Everywhere", "Moving")
"""How help groups the keys, in its order."""


@dataclass(frozen=True)
class Key:
    """One verb: what it is called, which keys do it, and what is said of it."""

    id: str
    keys: str
    """Keys in Textual's names, separated by commas; the first one is shown."""
    word: str
    """One or two words for the foot line and the palette."""
    help: str
    """A short clause for help and tooltips."""
    group: str = "Everywhere"
    supervisor: bool = False
    """It changes something: off while the supervisor is silent, and with --read-only."""
    palette: bool = True
    """The palette lists it; moving the cursor and the like it does not."""


_DEVICES, _RUNS, _LISTS, _CHARTS, _ALL, _MOVE = GROUPS

_TABLE = (
    Key("pane.1", "1", "Devices", "go to Devices"),
    Key("pane.2", "2", "Job", "go to Job"),
    Key("pane.3", "3", "Runs", "go to Runs"),
    Key("pane.4", "4", "Utilization", "go to Utilization"),
    Key("pane.5", "5", "Log", "go to Log"),
    Key("pane.6", "6", "Metrics", "go to Metrics"),
    Key("pane.next", "tab", "pane", "next pane", palette=False),
    Key("pane.previous", "shift+tab", "previous pane", "previous pane", palette=False),
    Key("pane.maximise", "m", "maximise", "maximise, again to restore"),
    Key("pane.narrower", "less_than_sign", "narrower", "make the left side narrower"),
    Key("pane.wider", "greater_than_sign", "wider", "make the left side wider"),
    Key("pane.sort", "S", "sort", "sort by the next column", _LISTS),
    Key("pane.columns", "vertical_line", "columns", "more or fewer columns", _LISTS),
    Key("app.palette", "ctrl+p,colon", "commands", "find anything"),
    Key("app.help", "question_mark", "help", "all keys and signs"),
    Key("app.notices", "exclamation_mark", "notices", "what was said, newest first"),
    Key("app.theme", "T", "theme", "the next theme"),
    Key("app.retry", "R", "try now", "ask a silent supervisor at once"),
    Key("app.back", "escape", "back", "back, close, clear", palette=False),
    Key("app.quit", "q", "quit", "close the screen; runs go on"),
    Key("item.open", "enter", "details", "open, details", _LISTS, palette=False),
    Key("item.actions", "full_stop", "actions", "everything that can be done here", _LISTS),
    Key("item.explain", "i", "explain", "why not, what is it", _LISTS),
    Key("item.pick", "space", "pick", "pick, or give it back", _DEVICES),
    Key("item.range", "shift+down,V", "range", "pick a range", _DEVICES),
    Key("item.range_up", "shift+up", "range upwards", "pick a range upwards", _DEVICES, palette=False),
    Key("item.clear", "x", "clear", "clear picks", _DEVICES),
    Key("item.copy", "y", "copy", "copy the command or value", _LISTS),
    Key("item.export", "Y", "write file", "write it to a file", _LISTS),
    Key("device.group", "g", "group", "next free group", _DEVICES),
    Key("device.holders", "h", "holders", "who holds the card", _DEVICES),
    Key("start.try", "t", "try", "make and train a tiny model here", _RUNS, supervisor=True),
    Key("start.demo", "d", "demo", "look around with invented cards", _RUNS),
    Key("job.launch", "l", "launch", "launch now", _RUNS, supervisor=True),
    Key("job.queue", "u", "queue", "queue until devices are free", _RUNS, supervisor=True),
    Key("job.edit", "e", "edit", "edit the job, or a run's job", _RUNS),
    Key("job.preview", "p", "preview", "the whole preview", _RUNS),
    Key("job.changes", "d", "changes", "only changed fields", _RUNS),
    Key("field.reset", "backspace,delete", "default", "the default, or a row out", _RUNS, palette=False),
    Key("run.stop", "s", "stop", "stop the run, shows the timers", _RUNS, supervisor=True),
    Key("run.rerun", "r", "rerun", "run the same job again", _RUNS, supervisor=True),
    Key("run.compare", "c", "compare", "compare marked runs", _RUNS),
    Key("run.remove", "delete", "remove", "remove the record of a run", _RUNS, supervisor=True),
    Key("run.all", "a", "all runs", "older runs as well", _RUNS),
    Key("session.open", "o", "open session", "open a session file", _RUNS),
    Key("session.save", "w", "save session", "save the job as a session file", _RUNS),
    Key("chart.span", "t", "time span", "another time span", _CHARTS),
    Key("chart.zoom_in", "plus,equals_sign", "zoom in", "zoom in", _CHARTS),
    Key("chart.zoom_out", "minus", "zoom out", "zoom out", _CHARTS),
    Key("chart.metric", "v", "metric", "another metric", _CHARTS),
    Key("chart.pause", "P", "pause", "pause the picture", _CHARTS),
    Key("chart.log_axis", "x", "log axis", "logarithmic axis", _CHARTS),
    Key("chart.cursor_left", "left", "cursor", "cursor to the left", _CHARTS, palette=False),
    Key("chart.cursor_right", "right", "cursor", "cursor to the right", _CHARTS, palette=False),
    Key("log.follow", "f,end", "follow", "follow the end of the log", _CHARTS),
    Key("log.fold", "z", "fold", "fold or open", _CHARTS),
    Key("log.fold_all", "Z", "fold all", "fold or open all", _CHARTS),
    Key("log.raw", "backslash", "raw", "as it was written, or untangled", _CHARTS),
    Key("log.only_matches", "ctrl+f", "only hits", "only matching lines", _CHARTS),
    Key("log.go", "number_sign", "go to", "go to a line, a share or a time", _CHARTS),
    Key("log.cause", "J", "cause", "go to the line that says why it failed", _CHARTS),
    Key("log.mark", "b", "mark", "mark the line, or take the mark away", _CHARTS),
    Key("log.next_mark", "apostrophe", "next mark", "next marked line", _CHARTS),
    Key("log.pager", "ctrl+o", "pager", "open the clean text in $PAGER", _CHARTS),
    Key("log.editor", "ctrl+e", "editor", "open the clean text in $EDITOR", _CHARTS),
    Key("find.open", "slash", "find", "find or filter in this pane", _LISTS),
    Key("find.next", "n", "next hit", "next hit", _CHARTS),
    Key("find.previous", "N", "previous hit", "previous hit", _CHARTS),
    Key("find.regex", "ctrl+r", "regex", "regular expression, or plain text", _CHARTS),
    Key("event.next", "right_curly_bracket", "next problem", "next warning or error", _CHARTS),
    Key("event.previous", "left_curly_bracket", "previous problem", "previous warning or error", _CHARTS),
    Key("part.next", "right_square_bracket", "next part", "next rank, card or run", _CHARTS),
    Key("part.previous", "left_square_bracket", "previous part", "previous rank, card or run", _CHARTS),
    Key("move.up", "up", "up", "one up", _MOVE, palette=False),
    Key("move.down", "down", "down", "one down", _MOVE, palette=False),
    Key("move.page_up", "pageup", "page up", "one page up", _MOVE, palette=False),
    Key("move.page_down", "pagedown", "page down", "one page down", _MOVE, palette=False),
    Key("move.first", "home", "first", "to the first", _MOVE, palette=False),
    Key("move.last", "end", "last", "to the last", _MOVE, palette=False),
    Key("move.left", "left", "left", "to the left", _MOVE, palette=False),
    Key("move.right", "right", "right", "to the right", _MOVE, palette=False),
)

KEYS: Mapping[str, Key] = MappingProxyType({key.id: key for key in _TABLE})
"""Every verb by its id."""

_SIGNS = {
    "question_mark": "?", "exclamation_mark": "!", "colon": ":", "slash": "/", "full_stop": ".", "plus": "+",
    "minus": "-", "equals_sign": "=", "less_than_sign": "<", "greater_than_sign": ">", "vertical_line": "|",
    "left_curly_bracket": "{", "right_curly_bracket": "}", "left_square_bracket": "[", "right_square_bracket": "]",
    "escape": "esc", "delete": "del", "pageup": "page up", "pagedown": "page down", "comma": ",",
    "number_sign": "#", "apostrophe": "'", "backslash": "\\",
}  # fmt: skip


def bind(identifier: str, action: str | None = None) -> Binding:
    """The verb of the table as a binding.

    Args:
        action: What Textual runs; by default `do('ID')`, which calls the method `do_ID` with `_` for `.`.
    """
    key = KEYS[identifier]
    return Binding(
        key.keys, action or f"do('{identifier}')", key.word, show=False, id=identifier, tooltip=key.help, priority=False
    )


def bind_all(*identifiers: str) -> list[BindingType]:
    """Bindings of several verbs."""
    return [bind(identifier) for identifier in identifiers]


def shown(keys: str, limit: int = 1) -> str:
    """Keys as a person reads them: `^p`, `shift+down`, `?`; the first `limit` of them."""
    return " ".join(_shown(key.strip()) for key in keys.split(",")[:limit])


def _shown(key: str) -> str:
    *modifiers, last = key.split("+") if key != "+" else [key]
    last = _SIGNS.get(last, last)
    if modifiers == ["ctrl"]:
        return f"^{last}"
    return "+".join([*modifiers, last])
