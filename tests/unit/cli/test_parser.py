"""The command line: global flags anywhere, one verb, and the argument list after `--`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from accel_tui.cli.parser import full_parser, parse
from accel_tui.cli.table import VERBS
from accel_tui.model.errors import UsageError


@pytest.mark.parametrize("argv", [["--demo", "gaudi3", "devices"], ["devices", "--demo", "gaudi3"]])
def test_global_flags_stand_before_or_after_the_verb(argv: list[str]) -> None:
    verb, arguments, _ = parse([*argv, "--ascii"])
    assert verb is not None
    assert (verb.name, arguments.demo, arguments.ascii, arguments.plain) == ("devices", "gaudi3", True, False)


def test_without_a_verb_the_screen_is_meant() -> None:
    verb, arguments, command = parse(["--session", "a.toml", "--read-only"])
    assert (verb, command) == (None, ())
    assert (arguments.session, arguments.read_only, arguments.theme) == ("a.toml", True, None)


def test_the_value_of_a_flag_is_no_verb() -> None:
    verb, arguments, _ = parse(["--state-dir", "runs", "devices"])
    assert verb is not None
    assert (verb.name, arguments.state_dir) == ("devices", "runs")


AWKWARD = ["prog", "", "--", "--json", "-h", "a b", "$HOME", "'\"", "\n", "\x1b[31m", "é", "--demo", "x"]


def test_everything_after_the_dashes_is_the_program() -> None:
    for verb_name in ("run", "exec"):
        verb, _, command = parse([verb_name, "--devices", "cpu", "--", *AWKWARD])
        assert verb is not None
        assert command == tuple(AWKWARD)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["devces"], "devices"),
        (["devices", "--jsn"], "--jsn"),
        (["devices", "--js"], "--js"),  # no abbreviations: a later flag would change their meaning
        (["runs", "--state", "walking"], "walking"),
        (["move", "x"], "--first"),
        (["move", "x", "--first", "--before", "y"], "not allowed"),
        (["run", "f", "--wait", "--follow"], "not allowed"),
        (["run", "f", "--priority", "high"], "priority"),
        (["show"], "RUN"),
        (["supervisor", "restart"], "restart"),
        (["--theme"], "theme"),
        (["--", "devices"], "devices"),
    ],
)
def test_a_wrong_command_line_is_named(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(argv)
    assert words in f"{caught.value.message} {caught.value.remedy}"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_has_short_help_with_an_example(verb: object, capsys: pytest.CaptureFixture[str]) -> None:
    name = getattr(verb, "name")  # noqa: B009 - the parameter is typed by pytest as object
    with pytest.raises(SystemExit) as ended:
        parse([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "example:\n" in shown
    assert f"accel-tui {name}" in shown.split("example:\n")[1]
    assert len(shown.splitlines()) < 60


def test_the_parser_of_completion_knows_every_verb() -> None:
    parsed = full_parser().parse_args(["stop", "last", "--now"])
    assert (parsed.verb, parsed.refs, parsed.now) == ("stop", ["last"], True)


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["devices", "--help"], ["run", "--help"]])
def test_help_and_version_load_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys; sys.argv[0] = 'accel-tui'\n"
        "from accel_tui.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert ended.code == 0, ended.code\n"
        "heavy = {'pydantic', 'textual', 'psutil', 'starlette', 'uvicorn', 'asyncio', 'sqlite3'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code, *argv], check=True, stdout=subprocess.DEVNULL)
