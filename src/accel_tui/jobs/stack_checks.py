"""Checks that ask the job's interpreter what it has installed."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from accel_tui.jobs.arguments import GENERATION, TRAINING, outside
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accel_tui.jobs.scene import Scene

LOWEST, BELOW = (4, 51), (6,)
"""The releases of transformers that the worker knows: from the first, below the second."""
_RANGE = "transformers>=4.51,<6"
_ACCELERATE = "accelerate>=1.5"


def release(version: str | None) -> tuple[int, ...]:
    """The leading numbers of a version: `2.7.1+cpu` is (2, 7, 1)."""
    match = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _asked(scene: Scene) -> bool:
    """Whether the interpreter may and can be asked; others have spoken where not."""
    from accel_tui.jobs.file_checks import interpreter

    return _applies(scene) and all(found.level is CheckLevel.PASS for found in interpreter(scene))


def _applies(scene: Scene) -> bool:
    return scene.uses_python and bool(_needed(scene))


def answers(scene: Scene) -> Iterator[Check]:
    if _applies(scene) and not _asked(scene):
        yield Check("torch-stack", CheckLevel.UNKNOWN, "the interpreter was not asked what it has installed")
    elif _asked(scene) and scene.facts.fault is not None:
        message = f"{scene.interpreter.path} does not work: {scene.facts.fault}"
        yield Check("torch-stack", CheckLevel.REFUSAL, message, "name another interpreter: launch.python")


def told(scene: Scene) -> bool:
    """Whether the job's interpreter was asked and answered."""
    return _asked(scene) and scene.facts.fault is None


def torch_stack(scene: Scene) -> Iterator[Check]:
    if not told(scene):
        return
    needed = _needed(scene)
    missing = [name for name in needed if scene.facts.version(name) is None]
    if missing:
        message = f"{scene.interpreter.path} ({scene.interpreter.reason}) lacks {', '.join(missing)}"
        yield Check("torch-stack", CheckLevel.REFUSAL, message, install_command(scene, missing))
    else:
        versions = ", ".join(f"{name} {scene.facts.version(name)}" for name in needed)
        yield Check("torch-stack", CheckLevel.PASS, versions)


def _needed(scene: Scene) -> list[str]:
    """Distributions that the run cannot do without; none for a command under plain `python`."""
    if not scene.job.worker and scene.job.launcher not in ("torchrun", "accelerate"):
        return []
    names = ["torch"]
    if scene.job.worker:
        names.append("transformers")
    if scene.job.kind == "train" or scene.job.launcher == "accelerate":
        names.append("accelerate")
    if scene.plan.facts["torch_device"] == "hpu":
        names.append("habana-torch-plugin")
    return names


def install_command(scene: Scene, missing: list[str]) -> str:
    """How to install what is missing into that interpreter; a vendor's torch is never replaced."""
    pip = f"{shlex.quote(scene.interpreter.path)} -m pip install"
    device = scene.plan.facts["torch_device"]
    wanted = {"transformers": f'"{_RANGE}"', "accelerate": f'"{_ACCELERATE}"'}
    packages = [wanted[name] for name in missing if name in wanted]
    if device == "hpu" and {"torch", "habana-torch-plugin"} & set(missing):
        rest = f", then {pip} {' '.join(packages)}" if packages else ""
        return f"install torch with habana-torch-plugin by Intel's Gaudi installer, or use its image{rest}"
    steps = [f"{pip} {' '.join(packages)}"] if packages else []
    if "torch" in missing:  # the usual index has the build for another vendor's GPUs
        steps.insert(
            0, f"{pip} torch --index-url https://download.pytorch.org/whl/{'xpu' if device == 'xpu' else 'cpu'}"
        )
    return " && ".join(steps)


def versions(scene: Scene) -> Iterator[Check]:
    if not told(scene) or not scene.job.worker:
        return
    python = release(scene.facts.python)
    if python and python < (3, 10):
        message = f"{scene.interpreter.path} is Python {scene.facts.python}; the worker needs 3.10 or newer"
        yield Check("python-version", CheckLevel.REFUSAL, message, "name a newer interpreter: launch.python")
    transformers = scene.facts.version("transformers")
    if transformers and not LOWEST <= release(transformers) < BELOW:
        message = f"transformers {transformers} is outside 4.51 to 5.x, which the worker knows"
        remedy = f'{shlex.quote(scene.interpreter.path)} -m pip install "{_RANGE}"'
        yield Check("transformers-version", CheckLevel.REFUSAL, message, remedy)
    device, torch = scene.plan.facts["torch_device"], release(scene.facts.version("torch"))
    accelerate = scene.facts.version("accelerate")
    if device == "hpu" and accelerate and release(accelerate) < (1, 5):
        message = f"accelerate {accelerate} does not know Gaudi and would train on the CPU; 1.5 does"
        remedy = f'{shlex.quote(scene.interpreter.path)} -m pip install "{_ACCELERATE}"'
        yield Check("accelerate-version", CheckLevel.REFUSAL, message, remedy)
    if device == "xpu" and scene.plan.processes > 1 and torch and torch < (2, 7):
        message = f"torch {scene.facts.version('torch')} has no collectives for Intel GPUs; ranks would train apart"
        yield Check("torch-version", CheckLevel.REFUSAL, message, "use torch 2.7 or newer, or one process")


def arguments(scene: Scene) -> Iterator[Check]:
    version = scene.facts.version("transformers") if told(scene) else None
    if version is None:
        return
    for kind, table in ((TRAINING, "train"), (GENERATION, "generate")):
        for name, known in outside(kind, scene.field(table, "arguments") or {}, version):
            message = f"{name} is an argument of transformers {', '.join(known)}; the job's interpreter has {version}"
            yield Check("arguments", CheckLevel.REFUSAL, message, f"remove `{table}.arguments.{name}`")


def precision(scene: Scene) -> Iterator[Check]:
    """Half precision where the device has none."""
    device = scene.plan.facts["torch_device"]
    given = scene.field("train", "arguments") or {}
    if device == "cpu" and given.get("fp16"):
        message = "fp16 training does not work on the CPU"
        yield Check("precision", CheckLevel.REFUSAL, message, "use bf16, or leave both out")
    if given.get("fp16") and given.get("bf16"):
        yield Check("precision", CheckLevel.REFUSAL, "fp16 and bf16 are both asked for", "keep one of them")
    if device == "cpu" and scene.field("model", "dtype") == "float16":
        yield Check("precision", CheckLevel.WARNING, "float16 is slow on the CPU", "use bfloat16 or float32")


CHECKS: tuple[Callable[[Scene], Iterator[Check]], ...] = (answers, torch_stack, versions, arguments, precision)
"""In the order in which they are shown."""
