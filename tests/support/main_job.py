"""The way that most people go through the screen, as keys and what is seen after them; for any kind of terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

STANDIN = Path(__file__).parent / "standins/standin_trainer.py"

Seen = Callable[[str], object]
"""Whether a screen, as its text, shows what is waited for."""


@dataclass(frozen=True)
class Step:
    """Keys, and what is to be seen before the next ones are pressed."""

    what: str
    keys: tuple[str, ...]
    seen: Seen


def training_session(folder: Path) -> Path:
    """A session that trains for very long with a stand-in for the torch stack; its model and text are real files."""
    folder.mkdir(exist_ok=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I {STANDIN} "$@"\n')
    python.chmod(0o755)
    model = folder / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}))
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (model / name).write_text("{}" * 50)
    (folder / "text.txt").write_text("words and more words\n" * 100)
    path = folder / "mine.toml"
    path.write_text(
        f'[session]\ntitle = "Mine"\n[[job]]\nname = "tune"\nkind = "train"\n'
        f'[job.launch]\npython = "{python}"\n[job.model]\npath = "model"\n'
        f'[job.data]\npath = "text.txt"\n[job.train.arguments]\nmax_steps = 100000\n'
    )
    return path


def shows(*words: str) -> Seen:
    return lambda text: all(word in text for word in words)


def lacks(word: str) -> Seen:
    return lambda text: word not in text


def falls() -> Seen:
    """A loss is seen that is lower than the first one that was seen."""
    losses: list[float] = []

    def lower(text: str) -> bool:
        losses.extend(float(value) for value in re.findall(r"loss (\d+\.\d+)", text)[:1])
        return bool(losses) and losses[-1] < losses[0]

    return lower


def main_job(session: Path) -> Sequence[Step]:
    """Pick the CPU, open a session, change a field, launch, watch, search the log, stop, run again."""
    return (
        Step("the CPU is picked", ("1", "end", "space"), shows("picked   cpu")),
        Step("the sessions", ("2", "o"), shows("Opening reads the file and runs nothing")),
        Step("the job", (*f"{session}#tune", "enter"), shows("checks passed", "text.txt")),
        Step("the form", ("e",), shows("find a field")),
        Step("the search", ("slash",), shows("enter to the fields")),
        Step("the variables", (*"variables", "enter"), shows("esc close")),
        Step("the line to type into", ("enter",), shows("enter done", "NAME=VALUE")),
        Step("the change in the preview", (*"WHO=me", "enter"), shows("+ WHO=me", "set by the job")),
        Step("the run", ("l",), shows("1 running", "step ")),
        Step("the loss", ("5",), falls()),
        Step("the search line", ("m", "slash"), shows("for a regular expression")),
        Step("the hits", (*"loss", "enter"), lambda text: re.search(r"\d+ of \d+ hits", text)),
        Step("the log without the search", ("escape",), lacks("regex off")),
        Step("the question", ("m", "s"), shows("What happens", "Keep it running")),
        Step("the end", ("s",), shows("then ended", "not needed", "✓ ended")),
        Step("how it ended", ("escape",), lambda text: "Stopping tune" not in text and "stopped by you" in text),
        Step("the second run", ("3", "r"), shows("1 running", "queued tune again", "stopped by you")),
    )
