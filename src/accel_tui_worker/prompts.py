"""The prompts of a `generate` job, and the file that its results go to."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker.errors import BadInputError, InvalidJobError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accel_tui_worker.job import Generate

MESSAGE_ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True)
class Prompt:
    """One prompt: plain text, or the messages of a conversation."""

    text: str | None = None
    messages: tuple[dict[str, str], ...] | None = None

    def shown(self) -> str | list[dict[str, str]]:
        """What a result line says was asked."""
        return list(self.messages) if self.messages is not None else (self.text or "")

    def title(self) -> str:
        """One line for a log."""
        text = self.messages[-1]["content"] if self.messages else self.text or ""
        first = " ".join(text.split())
        return first if len(first) <= 100 else first[:99] + "…"


def read_prompts(generate: Generate) -> list[Prompt]:
    """All prompts of a job, inline ones first.

    Raises:
        BadInputError: the file is missing, not UTF-8, or a line of it is damaged; names the line.
        InvalidJobError: there is no prompt at all.
    """
    prompts = [Prompt(text=text) for text in generate.prompts]
    if generate.prompts_file:
        path = Path(generate.prompts_file).expanduser()
        lines = read_lines(path)
        read = _json_prompts if path.suffix.lower() in (".jsonl", ".ndjson") else _text_prompts
        prompts += read(path, lines)
    if not prompts:
        where = f"{generate.prompts_file} has none" if generate.prompts_file else "generate.prompts is empty"
        raise InvalidJobError(f"there is no prompt: {where}")
    return prompts


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file without their ends."""
    try:
        return path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path} is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}") from error
    except OSError as error:
        raise BadInputError(f"cannot read {path}: {error.strerror}") from error


def _text_prompts(_path: Path, lines: list[str]) -> list[Prompt]:
    return [Prompt(text=line.rstrip("\r")) for line in lines if line.strip()]


def _json_prompts(path: Path, lines: list[str]) -> list[Prompt]:
    return [_prompt(path, number, document) for number, document in json_lines(path, lines)]


def json_lines(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each non-empty line of a JSONL file as number and object; raises BadInputError with the line's number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            raise BadInputError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(document, dict):
            raise BadInputError(f"{path}, line {number}: {type(document).__name__}, not an object")
        yield number, document


def _prompt(path: Path, number: int, document: dict[str, Any]) -> Prompt:
    if "messages" in document:
        return Prompt(messages=check_messages(path, number, document["messages"]))
    text = document.get("prompt")
    if not isinstance(text, str):
        raise BadInputError(f'{path}, line {number}: has neither a text "prompt" nor "messages"')
    return Prompt(text=text)


def check_messages(path: Path, number: int, messages: Any) -> tuple[dict[str, str], ...]:
    """The messages of a conversation, each with a role and a text; raises BadInputError."""
    if not isinstance(messages, list) or not messages:
        raise BadInputError(f'{path}, line {number}: "messages" is no list of messages')
    for message in messages:
        fit = isinstance(message, dict) and message.get("role") in MESSAGE_ROLES
        if not fit or not isinstance(message.get("content"), str):
            roles = ", ".join(MESSAGE_ROLES)
            raise BadInputError(f"{path}, line {number}: a message needs a text content and a role of {roles}")
    return tuple({"role": message["role"], "content": message["content"]} for message in messages)


class ResultFile:
    """A JSONL file that gets each result as one whole line, in the order of the prompts."""

    def __init__(self, path: Path, *, resume: bool, warn: Callable[[str, str], None]) -> None:
        """Open `path`; what an earlier run left there is continued with `resume`, else set aside.

        Raises:
            BadInputError: the file or its folder cannot be written.
        """
        self.path = path
        self.kept: list[dict[str, Any]] = []
        """Results of an earlier run that are continued."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and path.stat().st_size:
                if resume:
                    self.kept = self._keep_whole_lines()
                else:
                    warn("results-set-aside", f"{path} held results; they are in {self._set_aside()} now")
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise BadInputError(f"cannot write {path}: {error.strerror}") from error

    def append(self, record: dict[str, Any]) -> None:
        """Write one line in one go; a full disk leaves no half of it.

        Raises:
            BadInputError: the disk is full or gone.
        """
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        size = os.fstat(self._descriptor).st_size
        try:
            whole = os.write(self._descriptor, line) == len(line)
            reason = "no space left"
        except OSError as error:
            whole, reason = False, str(error.strerror)
        if not whole:
            os.ftruncate(self._descriptor, size)
            raise BadInputError(f"cannot write {self.path}: {reason}")

    def close(self) -> None:
        os.close(self._descriptor)

    def _keep_whole_lines(self) -> list[dict[str, Any]]:
        """The results up to the first line that is torn or out of order; the rest is cut off."""
        kept: list[dict[str, Any]] = []
        size = 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                record = json.loads(line)
                if not line.endswith(b"\n") or record["index"] != len(kept):
                    break
            except (ValueError, KeyError, TypeError):
                break
            kept.append(record)
            size += len(line)
        os.truncate(self.path, size)
        return kept

    def _set_aside(self) -> Path:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.{number}")).exists():
            number += 1
        self.path.rename(aside)
        return aside
