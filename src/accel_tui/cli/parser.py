"""The command line: global flags anywhere, one verb, and its own arguments.

Only the module of the verb that was asked for is imported. The argument list after `--` is taken before argparse sees
it, so it arrives byte for byte.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from accel_tui.cli.table import VERBS, Verb, find
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_VALUED = ("--demo", "--state-dir", "--session", "--theme")
"""Flags in front of a verb whose next word is their value."""


class Parser(argparse.ArgumentParser):
    """An argparse parser whose faults are ours: exit 2 in words, or as a document."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy=f"`{self.prog} --help` shows what it takes")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """argparse makes one for every argument, and would load shutil and its compressors to know the terminal's width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """The width to write for: COLUMNS, else that of the terminal, else 80."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80 if sys.__stdout__ else 80
    except (OSError, ValueError):  # no terminal, or a closed one
        return 80


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from accel_tui.protocol.version import VERSION

        print(f"accel-tui {VERSION}")  # noqa: T201 - data on standard output, before there is an Output
        parser.exit(0)


def global_flags(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """The flags that stand before or after any verb; `default` is the value of one that is not given."""
    group = parser.add_argument_group("global")
    group.add_argument(
        "--demo", metavar="NAME", default=default, help="invented devices, such as server8; a wrong name lists all"
    )
    group.add_argument("--plain", action="store_true", help="plain lines instead of the screen")
    group.add_argument("--ascii", action="store_true", help="no sign outside ASCII")
    group.add_argument("--state-dir", metavar="FOLDER", default=default, help="where runs and the socket are kept")
    group.add_argument("--version", action=_Version)


def parse(argv: Sequence[str]) -> tuple[Verb | None, argparse.Namespace, tuple[str, ...]]:
    """The verb (None: bare), its arguments and the command after `--`.

    Raises:
        UsageError: argv is wrong.
        SystemExit: help or the version was asked for and printed.
    """
    words = list(argv)
    place = _verb_place(words)
    if place is None:
        return None, _bare_parser().parse_args(words), ()
    verb = find(words[place])
    if verb is None:
        raise UsageError(f"no verb {words[place]!r}", remedy=_nearest(words[place]))
    del words[place]
    command: tuple[str, ...] = ()
    if verb.takes_command and "--" in words:
        cut = words.index("--")
        words, command = words[:cut], tuple(words[cut + 1 :])
    return verb, verb_parser(verb).parse_intermixed_args(words), command


def verb_parser(verb: Verb, parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """The parser of one verb, global flags included; `parser` is filled when given."""
    module = verb.load()
    # Below another parser a flag that is not given must not undo the one in front of the verb.
    default = None if parser is None else argparse.SUPPRESS
    if parser is None:
        parser = Parser(prog=f"accel-tui {verb.name}", **_style(_described(verb), module.EXAMPLE))
    module.arguments(parser)
    global_flags(parser, default)
    return parser


def full_parser() -> argparse.ArgumentParser:
    """Every verb as a sub-parser, for shell completion."""
    parser = _bare_parser()
    verbs = parser.add_subparsers(dest="verb")
    for verb in VERBS:
        verb_parser(verb, verbs.add_parser(verb.name, help=verb.summary, allow_abbrev=False))
    return parser


def _bare_parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {verb.name:<12}{verb.summary}" for verb in VERBS)
    parser = Parser(
        prog="accel-tui",
        usage="accel-tui [--session FILE] [--theme NAME] [--read-only]\n"
        "       accel-tui VERB ...   (`accel-tui VERB --help`)",
        **_style(
            "See the devices of this host, start jobs on them, watch and find them again.\n\n"
            f"Without a verb: the screen.\n\nverbs:\n{listed}",
            "accel-tui quickstart",
        ),
    )
    parser.add_argument("--session", metavar="FILE", help="open this session file")
    parser.add_argument("--theme", metavar="NAME", help="colours of the screen")
    parser.add_argument("--read-only", action="store_true", help="look, change nothing")
    global_flags(parser)
    return parser


def _described(verb: Verb) -> str:
    text = verb.summary[0].upper() + verb.summary[1:] + "."
    return text + " What follows `--` is the program with its arguments, byte for byte." if verb.takes_command else text


def _style(description: str, example: str) -> dict[str, Any]:
    return {
        "description": description,
        "epilog": f"example:\n  {example}",
        "formatter_class": _Formatter,
        "allow_abbrev": False,
    }


def _verb_place(words: Sequence[str]) -> int | None:
    """Index of the verb: the first word that is neither a flag nor the value of one."""
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            return None
        elif word.startswith("-"):
            skip = word in _VALUED
        else:
            return index
    return None


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, [verb.name for verb in VERBS], n=1)
    return f"Did you mean {near[0]}?" if near else "`accel-tui --help` lists the verbs"
