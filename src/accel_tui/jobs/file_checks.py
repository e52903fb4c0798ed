"""Checks that look at files and folders and execute nothing."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.jobs import space
from accel_tui.jobs.interpreters import shared_with_others
from accel_tui.jobs.paths import is_hub_name
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accel_tui.jobs.scene import Scene

_REFUSAL, _WARNING, _ASK, _PASS = CheckLevel.REFUSAL, CheckLevel.WARNING, CheckLevel.ASK, CheckLevel.PASS
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt", "tokenizer_config.json")
_TEXTS = (".txt", ".text", ".md", ".jsonl", ".ndjson")
_POINTER = b"version https://git-lfs"
_MIB = 1024 * 1024


def working_folder(scene: Scene) -> Iterator[Check]:
    cwd = Path(scene.plan.cwd)
    if not cwd.is_dir():
        what = "is not a folder" if cwd.exists() else "does not exist"
        yield Check("cwd", _REFUSAL, f"the working folder {cwd} {what}", "correct `launch.cwd`")
    elif not os.access(cwd, os.X_OK):
        yield Check(
            "cwd", _REFUSAL, f"the working folder {cwd} cannot be entered", "correct `launch.cwd`, or its rights"
        )


def room(scene: Scene) -> Iterator[Check]:
    facts = scene.plan.facts
    root = facts.get("artefacts_root")
    if root is not None and not os.access(space.nearest(Path(root)), os.W_OK | os.X_OK):
        message = f"artefacts_root {root} cannot be written"
        yield Check("artefacts-root", _REFUSAL, message, "correct the setting artefacts_root, or the folder's rights")
    for name, words in space.shortages(scene.plan.folder, root, int(facts.get("minimum_free_bytes", 0))):
        yield Check(name, _REFUSAL, words, space.REMEDY)


def interpreter(scene: Scene) -> Iterator[Check]:
    if not scene.uses_python:
        return
    path, reason = scene.interpreter.path, scene.interpreter.reason
    if not Path(path).is_file():
        message = f"there is no interpreter {path} ({reason})"
        yield Check("interpreter", _REFUSAL, message, "name one: launch.python, or the setting `python`")
    elif not os.access(path, os.X_OK):
        yield Check("interpreter", _REFUSAL, f"{path} is not executable ({reason})", "name a Python interpreter")
    elif (place := shared_with_others(path)) is not None:
        message = f"others may change what the interpreter runs: {place}"
        yield Check("interpreter-shared", _ASK, message, "use an environment of your own, or answer with --yes")
    else:
        yield Check("interpreter", _PASS, f"{path}: {reason}")


def program(scene: Scene) -> Iterator[Check]:
    """Only warned about: the program may appear before a queued run starts."""
    argv = scene.field("command", "argv")
    if not argv or scene.job.launch.image is not None:  # what an image holds is not known here
        return
    first = str(argv[0])
    script = first.endswith(".py") and scene.job.launcher != "none"
    path = scene.environment.get("PATH", os.defpath)
    found = Path(scene.plan.cwd, first).is_file() if script or "/" in first else shutil.which(first, path=path)
    if not found:
        yield Check("program", _WARNING, f"{first} is not found", "check its name, PATH and the working folder")
    elif "/" in first and (place := shared_with_others(str(Path(scene.plan.cwd, first)))) is not None:
        message = f"others may change the program: {place}"
        yield Check("program-shared", _ASK, message, "use a file of your own, or answer with --yes")


def model(scene: Scene) -> Iterator[Check]:
    path = scene.field("model", "path")
    if path is None:
        return
    if scene.field("model", "trust_remote_code"):
        yield Check("remote-code", _ASK, "code that comes with the model will be executed", "trust_remote_code = false")
    if is_hub_name(path):
        yield Check("model-hub", _WARNING, f"{path} is taken from the hub or its cache; it is no folder here",
                    "name a folder, with ./ in front where it is relative")  # fmt: skip
        return
    folder = Path(path)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        yield Check("model", _REFUSAL, f"the model folder {folder} {what}", "correct `model.path`")
        return
    yield from _model_folder(folder)
    tokenizer = scene.field("model", "tokenizer") or path
    if not is_hub_name(tokenizer) and not any(Path(tokenizer, name).is_file() for name in _TOKENIZERS):
        message = f"{tokenizer} has no tokenizer (such as tokenizer.json)"
        yield Check("model-tokenizer", _REFUSAL, message, "copy the tokenizer files, or set `model.tokenizer`")


def _model_folder(folder: Path) -> Iterator[Check]:
    config = folder / "config.json"
    if not config.is_file():
        yield Check("model", _REFUSAL, f"{folder} has no config.json, so it is no model", "correct `model.path`")
        return
    if not isinstance(_json(config), dict):
        yield Check("model", _REFUSAL, f"{config} is not a JSON object", "copy the model again")
        return
    weights, missing = weight_files(folder)
    if missing:
        message = f"{folder} lacks {len(missing)} of its weight files: {', '.join(missing[:3])}"
        yield Check("model-weights", _REFUSAL, message, "copy the model again")
    elif not weights:
        yield Check(
            "model-weights", _REFUSAL, f"{folder} has no weights (such as model.safetensors)", "copy the model again"
        )
    elif (broken := next((file for file in weights if _is_empty_or_pointer(file)), None)) is not None:
        message = f"{broken} is empty, or a pointer of Git LFS instead of the weights"
        yield Check("model-weights", _REFUSAL, message, "fetch the real files: git lfs pull")
    else:
        size = sum(file.stat().st_size for file in weights) / _MIB
        yield Check("model", _PASS, f"{folder}: {size:.1f} MiB of weights")


def weight_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The weights of a model folder, and the names of shards that its index lists and that are not there."""
    for name in _INDEXES:
        index = _json(folder / name)
        if isinstance(index, dict) and isinstance(index.get("weight_map"), dict):
            shards = sorted({str(shard) for shard in index["weight_map"].values()})
            here = [folder / shard for shard in shards if (folder / shard).is_file()]
            return here, [shard for shard in shards if not (folder / shard).is_file()]
    found = (
        sorted(folder.glob("*.safetensors"))
        or sorted(folder.glob("pytorch_model*.bin"))
        or sorted(folder.glob("*.gguf"))
    )
    return found, []


def _is_empty_or_pointer(file: Path) -> bool:
    with file.open("rb") as stream:
        head = stream.read(len(_POINTER))
    return head in (b"", _POINTER)


def _json(file: Path) -> Any:
    """The document in a file of at most 64 MiB; None when there is none."""
    try:
        if file.stat().st_size > 64 * _MIB:
            return None
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def data(scene: Scene) -> Iterator[Check]:
    for name in ("path", "eval_path"):
        path = scene.field("data", name)
        if path is not None:
            yield from _data(scene, Path(path), f"data.{name}", "data" if name == "path" else "data-eval")


def _data(scene: Scene, path: Path, field: str, identity: str) -> Iterator[Check]:
    form = scene.field("data", "format")
    if path.is_dir():
        visible = (entry for entry in path.rglob("*") if entry.is_file() and not entry.name.startswith("."))
        files = [file for file in visible if form != "auto" or file.suffix.lower() in _TEXTS]
        if not files:
            yield Check(identity, _REFUSAL, f"{path} has no file of text or JSON lines", f"correct `{field}`")
            return
    elif path.is_file():
        files = [path]
    else:
        yield Check(identity, _REFUSAL, f"{path} does not exist", f"correct `{field}`")
        return
    size = sum(file.stat().st_size for file in files)
    if not any(_has_text(file) for file in files):
        yield Check(identity, _REFUSAL, f"{path} is empty", "give it text")
        return
    fault = next(
        (fault for file in files if (fault := _line_fault(file, form, scene.field("data", "text_field")))), None
    )
    if fault is not None:
        yield Check(identity, _REFUSAL, fault, "correct the data, `data.format` or `data.text_field`")
    else:
        yield Check(identity, _PASS, f"{path}: {size / _MIB:.2f} MiB")


def _has_text(file: Path) -> bool:
    with file.open("rb") as stream:
        while block := stream.read(1 << 16):
            if block.strip():
                return True
    return False


def _line_fault(file: Path, form: str, text_field: str) -> str | None:
    """What is wrong with the first line of a JSON-lines file; conversations are as good as text."""
    if form == "text" or (form == "auto" and file.suffix.lower() not in (".jsonl", ".ndjson")):
        return None
    with file.open("rb") as stream:
        number, line = next(((n, line) for n, line in enumerate(stream, 1) if line.strip()), (0, b""))
    if not line:
        return None
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return f"{file}:{number}: is not JSON"
    if not isinstance(item, dict):
        return f"{file}:{number}: is not a JSON object"
    if text_field not in item and "messages" not in item:
        return f"{file}:{number}: has no {text_field!r}; it has {', '.join(map(str, list(item)[:6])) or 'nothing'}"
    return None


def prompts(scene: Scene) -> Iterator[Check]:
    path = scene.field("generate", "prompts_file")
    if path is None:
        return
    file = Path(path)
    if not file.is_file():
        yield Check("prompts", _REFUSAL, f"{file} does not exist", "correct `generate.prompts_file`")
    elif not _has_text(file):
        yield Check("prompts", _REFUSAL, f"{file} is empty", "give it prompts, one per line")


def resume(scene: Scene) -> Iterator[Check]:
    path = scene.field("train", "resume_from")
    if path is None:
        return
    folder = Path(path)
    checkpoints = [folder, *folder.glob("checkpoint-*")] if folder.is_dir() else []
    if not any((place / "trainer_state.json").is_file() for place in checkpoints):
        message = f"{folder} is no checkpoint and has none" if folder.exists() else f"{folder} does not exist"
        inside = folder / "artefacts"
        theirs = any(inside.glob("checkpoint-*"))
        remedy = f"the checkpoints of that run are in {inside}" if theirs else "correct `train.resume_from`"
        yield Check("resume", _REFUSAL, message, remedy)


def output(scene: Scene) -> Iterator[Check]:
    given = scene.field("train", "output") or scene.field("generate", "output")
    if given is None:
        return
    place = Path(given)
    if scene.field("train", "output") and place.exists() and not place.is_dir():
        yield Check("output", _REFUSAL, f"{place} is not a folder", "correct `train.output`")
        return
    existing = next(parent for parent in (place, *place.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        yield Check(
            "output", _REFUSAL, f"{place} cannot be written: {existing} belongs to another", "choose another place"
        )


def disk(scene: Scene) -> Iterator[Check]:
    """A checkpoint of full training holds the weights and two moments of each in full precision."""
    path = scene.field("model", "path")
    if scene.job.kind != "train" or path is None or is_hub_name(path) or not Path(path).is_dir():
        return
    needed = 4 * sum(file.stat().st_size for file in weight_files(Path(path))[0])
    place = Path(scene.field("train", "output") or scene.plan.facts.get("artefacts_root") or scene.plan.folder)
    existing = next(parent for parent in (place, *place.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        message = f"{free / _MIB:.0f} MiB are free under {existing}; one checkpoint takes about {needed / _MIB:.0f} MiB"
        yield Check("disk", _WARNING, message, "free some space, or set `train.output`")


CHECKS: tuple[Callable[[Scene], Iterator[Check]], ...] = (
    working_folder, room, interpreter, program, model, data, prompts, resume, output, disk,
)  # fmt: skip
"""In the order in which they are shown."""
