"""Checks of a run on Intel GPUs that ask the job's interpreter and open the cards' nodes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.jobs import nodes
from accel_tui.jobs.paths import is_hub_name
from accel_tui.jobs.stack_checks import install_command, release, told
from accel_tui.model.plans import Check, CheckLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accel_tui.jobs.facts import Facts
    from accel_tui.jobs.scene import Scene

_PASS, _WARNING, _REFUSAL, _UNKNOWN = CheckLevel.PASS, CheckLevel.WARNING, CheckLevel.REFUSAL, CheckLevel.UNKNOWN

SORTED_SINCE = 26690
"""Build of the driver (23.26) since which it sorts cards by itself; older ones only when the order variable says so."""
TILES_SINCE = 26918
"""Build of the driver (23.30) since which it shows tiles as devices when asked; older ones show cards alone."""
GROUPED_SINCE = (2, 8)
"""torch whose `sdpa` takes grouped queries on Intel GPUs as they are."""
_HUB_KERNEL = "kernels-community/flash-attn2"


def applies(scene: Scene) -> bool:
    """Whether the plan is for Intel GPUs that are here."""
    return scene.plan.facts.get("torch_device") == "xpu" and scene.plan.verified and scene.plan.waiting_for is None


def access(scene: Scene) -> Iterator[Check]:
    """The nodes of the selected cards, opened by a child as the run will open them."""
    paths = scene.plan.facts.get("nodes")
    if not applies(scene) or not isinstance(paths, dict) or not paths:
        return
    answers = nodes.opened(list(paths.values()))
    if answers is None:
        message = f"opening {', '.join(paths.values())} did not end within {nodes.DEADLINE_SECONDS:.0f} s"
        yield Check("device-access", _UNKNOWN, message, "look at the kernel log: the driver may hang")
        return
    shut = {path: reason for path, reason in answers.items() if reason is not None}
    for path, reason in shut.items():
        yield Check("device-access", _REFUSAL, f"{path} cannot be opened: {reason}", nodes.remedy(path))
    if not shut:
        yield Check("device-access", _PASS, f"{', '.join(answers)} can be opened")
    folder = Path(next(iter(answers))).parent / "by-path"
    if scene.plan.processes > 1 and not folder.is_dir():
        message = f"oneCCL looks for the cards in {folder}, which is missing"
        yield Check("by-path", _WARNING, message, "mount that folder into the container beside the nodes")


def packages(scene: Scene) -> Iterator[Check]:
    """Distributions that are in the way on Intel GPUs."""
    if not applies(scene) or not told(scene):
        return
    pip = f"{shlex.quote(scene.interpreter.path)} -m pip"
    extension = scene.facts.version("intel-extension-for-pytorch")
    if extension:
        message = f"intel-extension-for-pytorch {extension} is no longer maintained and changes torch when imported"
        remedy = f"{pip} uninstall intel-extension-for-pytorch"
        yield Check("torch-extension", _WARNING, message, remedy)
    telemetry = scene.facts.version("pyzes")
    if telemetry and release(telemetry) < (0, 1, 2):
        message = f"pyzes {telemetry} reads wrong values, and torch counts devices with it"
        yield Check("pyzes-version", _WARNING, message, f'{pip} install "pyzes>=0.1.2"')


def devices(scene: Scene) -> Iterator[Check]:
    """What torch sees under the planned environment, as many as were picked, and the same cards."""
    if not scene.deep or not applies(scene) or not told(scene):
        return
    facts = scene.deep_facts
    if facts.fault is not None:
        message = f"torch was not asked for its devices: {facts.fault}"
        yield Check("torch-devices", _UNKNOWN, message, "the run tries it all the same")
        return
    seen = _table(facts, "xpu")
    if not seen.get("compiled"):
        message = f"torch {scene.facts.version('torch')} is not built for Intel GPUs (torch.xpu.is_available() False)"
        yield Check("torch-devices", _REFUSAL, message, install_command(scene, ["torch"]))
        return
    yield from _counted(scene, facts, seen)
    if _table(facts, "devices").get("xpu"):  # where torch sees none, that says it all
        yield from _training(facts)


def _training(facts: Facts) -> Iterator[Check]:
    """Where a Trainer would work."""
    device, error = facts.document.get("training_device"), _table(facts, "errors").get("training")
    if device is not None and str(device).startswith("xpu"):
        yield Check("training-device", _PASS, f"TrainingArguments.device is {device}")
    elif device is not None:
        remedy = "accelerate or transformers does not see what torch sees: update both"
        yield Check("training-device", _REFUSAL, f"TrainingArguments.device is {device}", remedy)
    elif error:
        yield Check("training-device", _WARNING, f"TrainingArguments cannot be made: {error}", "the run may fail alike")


def _counted(scene: Scene, facts: Facts, seen: Mapping[str, Any]) -> Iterator[Check]:
    wanted = _expected(scene)
    count = _table(facts, "devices").get("xpu", 0)
    errors = _table(facts, "errors")
    said = f"torch.xpu.is_available() {seen.get('available')}, device_count() {count}"
    if errors.get("xpu") and not count:
        message = f"torch cannot use Intel GPUs here: {errors['xpu']}"
        yield Check("torch-devices", _REFUSAL, message, "see `accel-tui doctor`: driver, nodes, rights")
    elif count != len(wanted):
        mask = scene.environment.get("ZE_AFFINITY_MASK", "")
        message = f"{said} under ZE_AFFINITY_MASK={mask}; {len(wanted)} are picked"
        yield Check("torch-devices", _REFUSAL, message, "see `accel-tui doctor`: driver, nodes, rights")
    else:
        yield from _same(wanted, seen, said)
    if seen.get("counted_before") not in (None, count):
        message = f"before its runtime starts torch counts {seen['counted_before']} devices, which is wrong"
        yield Check("torch-count", _WARNING, message, "programs of your own: pass the number of processes")


def _same(wanted: list[str], seen: Mapping[str, Any], said: str) -> Iterator[Check]:
    """Whether the cards that torch names are the picked ones, where their uuids say it."""
    cards = [card for card in seen.get("cards", ()) if isinstance(card, dict)]
    wrong = [
        f"xpu:{index} is {card.get('key')} in place of {key}"
        for index, (key, card) in enumerate(zip(wanted, cards))  # noqa: B905 - of one length here
        if card.get("key") not in (None, key, key.partition("#")[0])
    ]
    names = ", ".join(dict.fromkeys(str(card.get("name")) for card in cards))
    if wrong:
        yield Check("torch-devices", _REFUSAL, f"torch sees other cards than the picked ones: {'; '.join(wrong)}",
                    "see `accel-tui doctor`, and tell us: the numbering differs from what we know")  # fmt: skip
    else:
        yield Check("torch-devices", _PASS, f"{said}, as many as picked: {names}")


def _expected(scene: Scene) -> list[str]:
    """What the run must see: what its ranks are told, else the selection."""
    listed = scene.environment.get("ACCEL_TUI_CARDS")
    return listed.split(",") if listed else [key for key in scene.plan.devices if key != "cpu"]


def driver(scene: Scene) -> Iterator[Check]:
    """Versions of loader and driver, and whether that driver sorts its cards."""
    if not _answered(scene):
        return
    seen = _table(scene.deep_facts, "xpu")
    parts = {str(name): str(version) for name, version in _sub(seen, "libraries").items()}
    told_by_torch = {str(card.get("driver_version")) for card in seen.get("cards", ()) if card.get("driver_version")}
    if not parts and not told_by_torch:
        return
    words = [f"{name.replace('_', ' ')} {version}" for name, version in parts.items()]
    words += [f"driver as torch tells it {version}" for version in sorted(told_by_torch)]
    yield Check("level-zero", _PASS, f"Level Zero: {', '.join(words)}")
    version = release(parts.get("driver"))
    build = version[2] if len(version) > 2 else None
    if build is not None and build < TILES_SINCE and scene.environment.get("ZE_FLAT_DEVICE_HIERARCHY") == "FLAT":
        message = f"this driver ({parts['driver']}) counts cards, and the mask counts tiles"
        yield Check("driver-tiles", CheckLevel.ASK, message, "select whole cards, or take a newer driver")
    if build is not None and build < SORTED_SINCE and scene.environment.get("ZE_ENABLE_PCI_ID_DEVICE_ORDER") != "1":
        message = (
            f"this driver ({parts['driver']}) sorts its cards only when told to, and an integrated GPU is in the way"
        )
        yield Check("driver-order", CheckLevel.ASK, message, "take a driver of 2023's second half or newer")


def collectives(scene: Scene) -> Iterator[Check]:
    if not _answered(scene) or scene.plan.processes < 2:
        return
    if _table(scene.deep_facts, "backends").get("xccl"):
        yield Check("collectives", _PASS, "xccl is in this torch")
    else:
        message = f"torch {scene.facts.version('torch')} has no xccl: {scene.plan.processes} ranks would train apart"
        yield Check("collectives", _REFUSAL, message, "install torch's build for Intel GPUs, 2.8 or newer")


def precision(scene: Scene) -> Iterator[Check]:
    arguments = scene.field("train", "arguments") or {}
    if not _answered(scene) or not (arguments.get("bf16") or scene.field("model", "dtype") == "bfloat16"):
        return
    supported = _table(scene.deep_facts, "bf16").get("xpu")
    cards = _table(scene.deep_facts, "xpu").get("cards", ())
    if supported is False:
        yield Check("bf16", _REFUSAL, "torch says that these cards have no bfloat16", "use float32")
    elif any(card.get("bf16_native") is False for card in cards if isinstance(card, dict)):
        message = "bfloat16 is emulated on these cards: it works, slowly"
        yield Check("bf16", _WARNING, message, "use float16 or float32")
    elif supported:
        yield Check("bf16", _PASS, "the cards have bfloat16")


def attention(scene: Scene) -> Iterator[Check]:
    """Attention that these cards or this torch do not have."""
    if not applies(scene) or not told(scene) or not scene.job.worker:
        return
    wanted = scene.field("model", "attn_implementation")
    torch = release(scene.facts.version("torch"))
    if wanted in (None, "sdpa") and torch and torch < GROUPED_SINCE and _grouped(scene):
        message = f"torch {scene.facts.version('torch')} copies keys and values of grouped queries on Intel GPUs"
        yield Check("attention", _WARNING, message, "2.8 takes them as they are; until then expect more memory")
    if wanted is None or not str(wanted).startswith(("flash", "kernels-community/")):
        return
    if "3" in str(wanted).rpartition("flash")[2] or "4" in str(wanted).rpartition("flash")[2]:
        message = f"{wanted} is made for another vendor's GPUs"
        yield Check("attention", _REFUSAL, message, 'set model.attn_implementation = "sdpa"')
        return
    yield from _kernels(scene, str(wanted))


def _kernels(scene: Scene, wanted: str) -> Iterator[Check]:
    version, span = scene.facts.version("kernels"), scene.facts.document.get("kernels_range")
    pip = f"{shlex.quote(scene.interpreter.path)} -m pip install"
    if version is None:
        message = f"{wanted} comes through the package kernels, which is not installed (flash_attn is not used here)"
        yield Check("attention", _REFUSAL, message, f'{pip} "kernels{span or ""}", or "sdpa"')
    elif span and not within(version, str(span)):
        message = f"transformers takes kernels {span}, and {version} is installed"
        yield Check("attention", _REFUSAL, message, f'{pip} "kernels{span}", or set attn_implementation to "sdpa"')
    elif scene.environment.get("HF_HUB_OFFLINE") == "1" and not _cached(scene.environment):
        message = f"{wanted} is the kernel {_HUB_KERNEL} of the hub, which is not in the cache, and the run is offline"
        yield Check("attention", _REFUSAL, message, 'set launch.env HF_HUB_OFFLINE = "0" once, or use "sdpa"')
    else:
        yield Check("attention", _PASS, f"{wanted} through kernels {version}")


def _cached(environment: Mapping[str, str]) -> bool:
    home = environment.get("HF_HOME") or str(Path(environment.get("HOME", "/"), ".cache/huggingface"))
    cache = Path(environment.get("HF_HUB_CACHE") or f"{home}/hub")
    name = _HUB_KERNEL.replace("/", "--")
    return any((cache / f"{kind}--{name}").is_dir() for kind in ("models", "kernels"))


def within(version: str, span: str) -> bool:
    """Whether a release lies in a range such as `>=0.18.2,<0.19`; forms that are not known let it pass."""
    have = release(version)
    for part in span.split(","):
        sign = part.strip().rstrip("0123456789.* abcrv")
        bound = release(part.strip()[len(sign) :].strip())
        width = max(len(have), len(bound))
        left, right = (list(one) + [0] * (width - len(one)) for one in (have, bound))
        fits = {">=": left >= right, "<": left < right, ">": left > right, "<=": left <= right,
                "==": left == right, "!=": left != right}.get(sign, True)  # fmt: skip
        if not fits:
            return False
    return True


def _grouped(scene: Scene) -> bool:
    """Whether the model of the job has fewer heads for keys than for queries, as its folder says."""
    path = scene.field("model", "path")
    if not path or is_hub_name(path):
        return False
    try:
        config = json.loads(Path(path, "config.json").read_text("utf-8"))
        return 0 < int(config["num_key_value_heads"]) < int(config["num_attention_heads"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _answered(scene: Scene) -> bool:
    """Whether torch was asked and can use Intel GPUs at all."""
    if not scene.deep or not applies(scene) or not told(scene) or scene.deep_facts.fault is not None:
        return False
    return bool(_table(scene.deep_facts, "xpu").get("compiled"))


def _table(facts: Facts, name: str) -> Mapping[str, Any]:
    return _sub(facts.document, name)


def _sub(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


CHECKS: tuple[Callable[[Scene], Iterator[Check]], ...] = (
    access, packages, devices, driver, collectives, precision, attention,
)  # fmt: skip
"""In the order in which they are shown."""
