"""Local text and JSONL as token ids, packed without gaps into blocks of one size.

An example is a line of a text file, or an object of a JSONL file. Files of text stay whole: their lines follow each
other as they stand, and the end-of-text token follows the file. In JSONL it follows every object.
"""

from __future__ import annotations

import itertools
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker.errors import BadInputError, InvalidJobError
from accel_tui_worker.prompts import check_messages, json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accel_tui_worker.job import Data

FORMATS = {"text": (".txt", ".text", ".md"), "jsonl": (".jsonl", ".ndjson")}

CHUNK = 1 << 20
"""Characters of text that are tokenised at once; a cut falls between lines."""

BATCH = 256
"""Objects of JSONL that are tokenised at once."""


@dataclass(frozen=True)
class Source:
    """One file and how it is read."""

    path: Path
    format: str


@dataclass
class Tokens:
    """Everything that was read, as one row of token ids."""

    ids: array[int]
    examples: int = 0


def find_sources(data: Data) -> tuple[list[Source], list[Source]]:
    """The files to train on and those to evaluate on; looks at names only.

    A file that is evaluated on is never trained on, also when both paths name the same folder.

    Raises:
        BadInputError: a path is missing or has no file of the format.
        InvalidJobError: a field has a value that it cannot have.
    """
    if data.format not in ("auto", *FORMATS):
        raise InvalidJobError(f"data.format {data.format!r} is not one of auto, {', '.join(FORMATS)}")
    if data.block_size < 2:
        raise InvalidJobError(f"data.block_size {data.block_size} is too small: at least 2")
    if not 0 <= data.eval_fraction < 1:
        raise InvalidJobError(f"data.eval_fraction {data.eval_fraction} is not in 0 … 1 (without 1)")
    evaluation = _sources("data.eval_path", data.eval_path, data.format) if data.eval_path else []
    held_out = {source.path.resolve() for source in evaluation}
    training = [
        source
        for source in _sources("data.path", data.path, data.format)
        if source.path.resolve() not in held_out or not held_out
    ]
    if not training:
        raise BadInputError(f"data.path: {data.path} has nothing besides what data.eval_path evaluates on")
    return training, evaluation


def _sources(what: str, name: str, form: str) -> list[Source]:
    if not name:
        raise InvalidJobError(f"{what} is not set")
    path = Path(name).expanduser()
    if path.is_file():
        return [Source(path, _format(path, form) or "text")]
    if not path.is_dir():
        raise BadInputError(f"{what}: {path} does not exist")
    files = [entry for entry in sorted(path.rglob("*")) if _readable(entry, path)]
    found = [Source(entry, _format(entry, form) or "") for entry in files if _format(entry, form)]
    if not found:
        raise BadInputError(f"{what}: {path} has no file of text (.txt, .md) or of JSONL (.jsonl)")
    return found


def _readable(entry: Path, root: Path) -> bool:
    return entry.is_file() and not any(part.startswith(".") for part in entry.relative_to(root).parts)


def _format(path: Path, form: str) -> str | None:
    """The format of a file: as told, else by its suffix, None when that says nothing."""
    if form != "auto":
        return form
    return next((name for name, suffixes in FORMATS.items() if path.suffix.lower() in suffixes), None)


def tokenise(sources: Iterable[Source], data: Data, tokenizer: Any) -> Tokens:
    """Read and tokenise the sources, at most `data.limit` examples.

    Raises:
        BadInputError: a file cannot be read, is not UTF-8, or has a damaged line; names the line.
    """
    tokens = Tokens(array("i"))
    end = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
    for source in sources:
        room = None if data.limit is None else data.limit - tokens.examples
        if room is not None and room <= 0:
            break
        if source.format == "text":
            _add_text(source.path, room, tokens, tokenizer, end)
        else:
            objects = _objects(source.path, tokenizer, data.text_field)
            _add_objects(itertools.islice(objects, room), tokens, tokenizer, end)
    return tokens


def _add_text(path: Path, room: int | None, tokens: Tokens, tokenizer: Any, end: list[int]) -> None:
    chunk: list[str] = []
    size = 0
    for line in _lines(path):
        if room is not None and room <= 0:
            break
        chunk.append(line)
        size += len(line)
        if line.strip():
            tokens.examples += 1
            room = None if room is None else room - 1
        if size >= CHUNK:
            _extend(tokens, tokenizer, ["".join(chunk)], [])
            chunk, size = [], 0
    _extend(tokens, tokenizer, ["".join(chunk)], end)


def _objects(path: Path, tokenizer: Any, text_field: str) -> Iterator[str]:
    for number, document in json_lines(path, _lines(path)):
        yield _text(path, number, document, tokenizer, text_field)


def _add_objects(texts: Iterator[str], tokens: Tokens, tokenizer: Any, end: list[int]) -> None:
    while batch := list(itertools.islice(texts, BATCH)):
        tokens.examples += len(batch)
        _extend(tokens, tokenizer, batch, end)


def _text(path: Path, number: int, document: dict[str, Any], tokenizer: Any, text_field: str) -> str:
    text = document.get(text_field)
    if isinstance(text, str):
        return text
    if "messages" not in document:
        fields = ", ".join(map(repr, document)) or "none"
        raise BadInputError(f"{path}, line {number}: has no text in {text_field!r}; its fields: {fields}")
    if not tokenizer.chat_template:
        raise BadInputError(f"{path}, line {number}: has messages, and this model has no chat template")
    messages = check_messages(path, number, document["messages"])
    return str(tokenizer.apply_chat_template(list(messages), tokenize=False))


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield from stream
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path} is not UTF-8 ({error.reason})") from error
    except OSError as error:
        raise BadInputError(f"cannot read {path}: {error.strerror}") from error


def _extend(tokens: Tokens, tokenizer: Any, texts: list[str], end: list[int]) -> None:
    texts = [text for text in texts if text]
    if not texts:  # some tokenizers refuse an empty batch
        return
    encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
    for ids in encoded["input_ids"]:
        tokens.ids.extend(ids)
        tokens.ids.extend(end)


def split_blocks(count: int, fraction: float) -> tuple[list[int], list[int]]:
    """Which of `count` blocks are trained on, and which, evenly spread, are evaluated on.

    At least one block is left to train on; a fraction above 0 evaluates on at least one when there are two.
    """
    wanted = min(max(round(count * fraction), 1), count - 1) if fraction > 0 and count > 1 else 0
    evaluation = {(index * count) // wanted + (count // wanted) // 2 for index in range(wanted)} if wanted else set()
    return [index for index in range(count) if index not in evaluation], sorted(evaluation)
