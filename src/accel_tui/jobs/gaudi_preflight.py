"""Checks of a run on Gaudi that ask the job's interpreter: is Gaudi there for torch and the libraries, and if not, why.

`is_torch_hpu_available()` says False without a word, whatever is missing; here each condition speaks for itself.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.paths import is_hub_name
from accel_tui.jobs.stack_checks import release, told
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accel_tui.jobs.scene import Scene

_PASS, _WARNING, _REFUSAL, _UNKNOWN = CheckLevel.PASS, CheckLevel.WARNING, CheckLevel.REFUSAL, CheckLevel.UNKNOWN
_INSTALL = "install habana-torch-plugin with its torch by Intel's Gaudi installer, or use its image"
_RELEASE = re.compile(r"(?<![\d.])(1\.\d{2})\.\d+")
"""A release of the Gaudi software in a version text: `1.23.0-0a1b2c3`, `hl-gaudi3-1.23.0-fw-62.0.0`."""


def applies(scene: Scene) -> bool:
    """Whether the plan is for Gaudi cards that are here."""
    return scene.plan.facts.get("torch_device") == "hpu" and scene.plan.verified and scene.plan.waiting_for is None


def available(scene: Scene) -> Iterator[Check]:
    """Every condition of `is_torch_hpu_available()` under the planned environment, each by its own name."""
    if not scene.deep or not applies(scene) or not told(scene):
        return
    if scene.facts.version("habana-torch-plugin") is None:
        return  # `torch-stack` has said what is missing
    facts = scene.deep_facts
    seen = _table(facts.document, "hpu")
    broken = _table(facts.document, "errors")
    if facts.fault is not None or (not seen and not broken):
        message = f"torch was not asked for its devices: {facts.fault or 'the answer says nothing of Gaudi'}"
        yield Check("torch-devices", _UNKNOWN, message, "the run tries it all the same")
        return
    if scene.job.worker and _old_accelerate(scene):
        return  # `accelerate-version` has been told with the other versions
    reason = _missing(scene, seen, broken)
    if reason is not None:
        yield Check(reason[0], _REFUSAL, reason[1], reason[2])
    else:
        yield from _counted(scene, seen)


def _missing(scene: Scene, seen: Mapping[str, Any], broken: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The first condition that does not hold: id, message, remedy."""
    python = scene.interpreter.path
    if "torch" in broken:
        return "hpu-torch", f"torch cannot be imported: {broken['torch']}", _INSTALL
    lost = [name for name, found in _table(seen, "packages").items() if not found]
    if lost:
        message = f"{lost[0]} cannot be found by {python}, though habana-torch-plugin is installed"
        return "hpu-packages", message, _INSTALL
    if seen.get("plugin"):
        message = f"habana_frameworks.torch cannot be imported: {seen['plugin']}"
        return "hpu-plugin", message, "torch and habana-torch-plugin must be of one release; " + _INSTALL
    if not seen.get("known"):
        return "hpu-plugin", "habana_frameworks.torch was imported, and torch still has no torch.hpu", _INSTALL
    if "hpu" in broken and not _count(scene):
        return "hpu-driver", f"the plugin cannot ask the driver: {broken['hpu']}", "see `accel-tui doctor`: the driver"
    if not seen.get("available"):
        message = "torch.hpu.device_count() is 0: the plugin reaches no driver, or may open no card"
        return "hpu-driver", message, "see `accel-tui doctor`: driver and rights; in a container, its runtime"
    if _old_accelerate(scene):
        version = scene.facts.version("accelerate")
        message = f"accelerate {version} is older than 1.5.0, so is_torch_hpu_available() is False without a word"
        return "accelerate-version", message, f'{shlex.quote(python)} -m pip install "accelerate>=1.5"'
    for library in ("transformers", "accelerate"):
        if seen.get(library) is False:
            name = "is_torch_hpu_available" if library == "transformers" else "is_hpu_available"
            message = f"{library} does not see Gaudi ({name}() False), and everything it asks for is there"
            return "hpu-library", message, f"update {library}"
    return None


def _old_accelerate(scene: Scene) -> bool:
    accelerate = scene.facts.version("accelerate")
    return accelerate is not None and release(accelerate) < (1, 5)


def _count(scene: Scene) -> int:
    count = _table(scene.deep_facts.document, "devices").get("hpu")
    return count if isinstance(count, int) else 0


def _counted(scene: Scene, seen: Mapping[str, Any]) -> Iterator[Check]:
    """The plugin counts the machine's cards, whatever the list says: too few are a fault, more are not."""
    picked, count = len(scene.plan.devices), _count(scene)
    said = f"is_torch_hpu_available() {bool(seen.get('transformers'))}, torch.hpu.device_count() {count}"
    if seen.get("transformers") is None:
        said = f"torch.hpu.is_available() {seen.get('available')}, torch.hpu.device_count() {count}"
    modules = scene.environment.get("HABANA_VISIBLE_MODULES", "")
    if count < picked:
        message = f"{said}, and {picked} are picked"
        yield Check("torch-devices", _REFUSAL, message, "see `accel-tui doctor`: driver, rights, container")
    elif count == picked:
        yield Check("torch-devices", _PASS, f"{said}, as many as picked (modules {modules})")
    else:
        message = f"{said}: the plugin counts the machine; {picked} picked by HABANA_VISIBLE_MODULES={modules}"
        yield Check("torch-devices", _PASS, message)


def training(scene: Scene) -> Iterator[Check]:
    """Where a Trainer would work; the question takes no card."""
    if not _answered(scene) or scene.job.kind != "train":
        return
    document = scene.deep_facts.document
    device, error = document.get("training_device"), _table(document, "errors").get("training")
    if device is not None and str(device).startswith("hpu"):
        yield Check("training-device", _PASS, f"TrainingArguments.device is {device}")
    elif device is not None:
        message = f"TrainingArguments.device is {device}, not hpu: it would train there"
        yield Check("training-device", _REFUSAL, message, "update transformers and accelerate")
    elif error:
        yield Check("training-device", _WARNING, f"TrainingArguments cannot be made: {error}", "the run may fail alike")
    nodes = document.get("opened")
    if isinstance(nodes, list) and nodes:
        message = f"the question itself opened {', '.join(map(str, nodes))}; the card may be busy for a moment"
        yield Check("card-touched", _WARNING, message, "wait until it is operational again")


def collectives(scene: Scene) -> Iterator[Check]:
    if not _answered(scene) or scene.plan.processes < 2:
        return
    seen = _table(scene.deep_facts.document, "hpu")
    if seen.get("hccl") is None:
        yield Check("collectives", _PASS, "hccl can be imported")
    else:
        message = f"the back end hccl cannot be imported: {seen['hccl']}"
        yield Check("collectives", _REFUSAL, message, _INSTALL)


def releases(scene: Scene) -> Iterator[Check]:
    """Driver, plugin and firmware are of one release, by major and minor number."""
    if not applies(scene) or not told(scene):
        return
    known = _table(scene.plan.facts, "gaudi")
    drivers = _releases(known.get("drivers"))
    plugin = _releases([scene.facts.version("habana-torch-plugin")])
    firmware = _releases(known.get("firmware"))
    if len(drivers) > 1:
        message = f"the cards have drivers of releases {' and '.join(sorted(drivers))}"
        yield Check("gaudi-release", _WARNING, message, "see `accel-tui devices --json`")
    elif drivers and plugin and drivers != plugin:
        message = f"habana-torch-plugin is of release {_one(plugin)}, the driver of {_one(drivers)}: runs fail early"
        yield Check("gaudi-release", _REFUSAL, message, f"install the plugin of release {_one(drivers)}")
    elif drivers and plugin:
        yield Check("gaudi-release", _PASS, f"driver and plugin are of release {_one(drivers)}")
    else:
        what = "the driver's" if plugin else "the plugin's"
        yield Check("gaudi-release", _UNKNOWN, f"{what} release is not known, so they were not compared")
    if drivers and firmware and firmware != drivers:
        message = f"the firmware is of release {', '.join(sorted(firmware))}, the driver of {_one(drivers)}"
        yield Check("gaudi-firmware", _WARNING, message, "update the firmware with the driver's own tool")


def _releases(texts: Any) -> set[str]:
    found = (_RELEASE.search(str(text)) for text in texts or () if text)
    return {match[1] for match in found if match}


def _one(texts: set[str]) -> str:
    return ", ".join(sorted(texts))


def precision(scene: Scene) -> Iterator[Check]:
    """Number types and quantization by generation of the card."""
    if not applies(scene):
        return
    generation = _table(scene.plan.facts, "gaudi").get("generation")
    arguments = scene.field("train", "arguments") or {}
    half = arguments.get("fp16") or scene.field("model", "dtype") == "float16"
    if half and generation == 1:
        yield Check("precision", _REFUSAL, "first-generation Gaudi has no float16", "use bfloat16")
    if arguments.get("bf16") or scene.field("model", "dtype") == "bfloat16":
        yield Check("bf16", _PASS, "Gaudi has bfloat16")
    optimizer = str(arguments.get("optim") or "")
    if "8bit" in optimizer or "bnb" in optimizer:
        message = f"the optimizer {optimizer} is bitsandbytes', whose 8-bit optimizers do not run on Gaudi"
        yield Check("quantization", _REFUSAL, message, 'set train.arguments.optim = "adamw_torch"')
    yield from _quantized(_table(_config(scene), "quantization_config"), generation)


def _quantized(given: Mapping[str, Any], generation: Any) -> Iterator[Check]:
    """A model whose folder says that it was quantized (bitsandbytes 0.50 and its package description)."""
    if given.get("quant_method") != "bitsandbytes":
        return
    kind = given.get("bnb_4bit_quant_type", "fp4")
    if generation == 1:
        message = "bitsandbytes runs on Gaudi 2 and 3, not on the first generation"
        yield Check("quantization", _REFUSAL, message, "take the model in bfloat16")
    elif given.get("load_in_4bit") and kind != "nf4":
        message = f"bitsandbytes on Gaudi has nf4 alone of its 4-bit types, and this model is {kind}"
        yield Check("quantization", _REFUSAL, message, "take the model in bfloat16, int8 or nf4")
    else:
        words = "nf4, which bitsandbytes supports in part on Gaudi" if given.get("load_in_4bit") else "int8"
        yield Check("quantization", _PASS, f"the model is {words}")


def options(scene: Scene) -> Iterator[Check]:
    """Attention and compiler that Gaudi does not have."""
    if not applies(scene) or not scene.job.worker:
        return
    wanted = str(scene.field("model", "attn_implementation") or "")
    if wanted.startswith(("flash", "kernels-community/")):
        message = f"{wanted} has no kernel for Gaudi"
        yield Check("attention", _REFUSAL, message, 'set model.attn_implementation = "sdpa" or "eager"')
    backend = (scene.field("train", "arguments") or {}).get("torch_compile_backend")
    if backend not in (None, "hpu_backend", "eager"):
        message = f"torch_compile_backend {backend} is replaced by hpu_backend on Gaudi"
        yield Check("compile-backend", _WARNING, message, "leave torch_compile_backend out")


def _config(scene: Scene) -> Mapping[str, Any]:
    path = scene.field("model", "path")
    if not path or is_hub_name(path):
        return {}
    try:
        config = json.loads(Path(path, "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _answered(scene: Scene) -> bool:
    """Whether torch was asked and can use Gaudi at all."""
    if not scene.deep or not applies(scene) or not told(scene) or scene.deep_facts.fault is not None:
        return False
    return bool(_table(scene.deep_facts.document, "hpu").get("available"))


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


CHECKS: tuple[Callable[[Scene], Iterator[Check]], ...] = (
    available, training, collectives, releases, precision, options,
)  # fmt: skip
"""In the order in which they are shown."""
