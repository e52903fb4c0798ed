"""Arguments arrive byte for byte, in the run and by the shell script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.command_line import CommandLine, changed

AWKWARD = [
    "plain",
    "",
    " two  spaces ",
    "single ' double \" back ` slash \\",
    "$HOME ${HOME} $(id) !! *? ~ # ; & | < >",
    "line\nbreak\n",
    "tab\tand\rreturn",
    "é 名前 \U0001f600",
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b31m \u202e \u200b",
    "-n",
    "--",
    "%s %d",
    "a=b",
]
WRITE = "import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"


def session(folder: Path, argv: list[str]) -> Path:
    file = folder / "session.toml"
    quoted = ", ".join(json.dumps(word, ensure_ascii=False) for word in argv)  # a JSON string is a TOML basic string
    file.write_text(
        f'[devices]\nselect = "none"\n[[job]]\nname = "a"\nkind = "command"\n[job.command]\nargv = [{quoted}]\n'
    )
    return file


def test_from_the_command_line(cli: CommandLine, own_world: Path) -> None:
    told = own_world / "told.json"
    cli("run", "--devices", "none", "--wait", "--", sys.executable, "-c", WRITE, str(told), *AWKWARD).expect(0)
    assert json.loads(told.read_text()) == AWKWARD


def test_from_a_file_and_by_its_script(cli: CommandLine, own_world: Path) -> None:
    told = own_world / "told.json"
    file = session(own_world, [sys.executable, "-c", WRITE, str(told), *AWKWARD])
    cli("run", str(file), "--wait").expect(0)
    assert json.loads(told.read_text()) == AWKWARD
    told.unlink()

    planned = cli("plan", str(file), "--json").expect(0).json()
    assert planned["argv"][4:] == AWKWARD

    script = cli("plan", str(file), "--shell").expect(0).out  # the call itself checks that it is clean on a terminal
    done = subprocess.run(
        ["bash", "-c", script], env=changed(None), cwd=own_world, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(told.read_text()) == AWKWARD


def test_bytes_that_are_no_text(cli: CommandLine, own_world: Path) -> None:
    told = own_world / "told"
    script = 'printf %s "$1" > "$0"'
    odd = b"caf\xe9 \xff".decode("utf-8", "surrogateescape")
    cli("run", "--devices", "none", "--wait", "--", "sh", "-c", script, str(told), odd).expect(0)
    assert told.read_bytes() == b"caf\xe9 \xff"


def test_the_environment_is_that_of_the_submitter(cli: CommandLine, own_world: Path) -> None:
    told = own_world / "told.json"
    code = f"import json, os; json.dump(dict(os.environ), open({str(told)!r}, 'w'))"
    odd = {"ODD": "a\nb $x '\" \x1b[0m é", "ZE_AFFINITY_MASK": "1", "RANK": "3"}
    cli("devices").expect(0)  # the supervisor runs before the variables are there
    cli("run", "--devices", "none", "--wait", "--", sys.executable, "-c", code, environment={**odd}).expect(0)
    seen = json.loads(told.read_text())
    assert seen["ODD"] == odd["ODD"]
    assert "ZE_AFFINITY_MASK" not in seen
    assert "RANK" not in seen
