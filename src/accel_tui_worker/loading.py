"""Loading tokenizer and model, and proving that they are where they were asked to be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker import compatibility
from accel_tui_worker.errors import BadInputError, DeviceMismatchError, InvalidJobError, UnsupportedStackError
from accel_tui_worker.hpu import import_torch
from accel_tui_worker.job import resolve_model

if TYPE_CHECKING:
    from accel_tui_worker.job import Model
    from accel_tui_worker.run import Context


def check_model(model: Model) -> None:
    """Look at the named folders without importing anything heavy; raises BadInputError or InvalidJobError."""
    resolve_model(model.path)
    if model.tokenizer:
        resolve_model(model.tokenizer, "model.tokenizer", weights=False)


def load_tokenizer(model: Model) -> Any:
    """The tokenizer, with a padding token."""
    from transformers import AutoTokenizer

    name = resolve_model(model.tokenizer or model.path, "model.tokenizer", weights=False)
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            name, revision=_revision(model), trust_remote_code=model.trust_remote_code
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"the tokenizer of {name} cannot be loaded: {error}") from error
    if tokenizer.pad_token_id is None and tokenizer.eos_token_id is not None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(context: Context, device_map: str | None = None) -> Any:
    """The model with the dtype of the job: in host memory, or read straight to where `device_map` puts it."""
    from transformers import AutoModelForCausalLM

    model = context.job.model
    name = resolve_model(model.path)
    options = compatibility.dtype_argument(model.dtype)
    if device_map is not None:
        options["device_map"] = device_map
    if model.attn_implementation:
        options["attn_implementation"] = model.attn_implementation
    if _only_pickles(name):
        context.events.warn("pickle-weights", f"{name} has pickled weights; torch reads them in its restricted mode")
    try:
        return AutoModelForCausalLM.from_pretrained(
            name, revision=_revision(model), trust_remote_code=model.trust_remote_code, **options
        )
    except ImportError as error:
        raise UnsupportedStackError(f"{name} cannot be loaded: {error}") from error
    except ValueError as error:
        raise InvalidJobError(f"{name} cannot be loaded: {error}") from error
    except (OSError, KeyError) as error:
        raise BadInputError(f"{name} cannot be loaded: {error}") from error


def _revision(model: Model) -> str:
    return model.revision or "main"


def _only_pickles(name: str) -> bool:
    folder = Path(name)
    return folder.is_dir() and not any(folder.glob("*.safetensors"))


def prepare_device(device: str) -> Any:
    """The torch device, after the plugin that makes it known was imported.

    Raises:
        DeviceMismatchError: this torch sees no such device.
        InvalidJobError: no device has such a name.
        UnsupportedStackError: the plugin cannot be imported.
    """
    torch = import_torch(device)
    try:
        wanted = torch.device(device)
    except RuntimeError as error:
        raise InvalidJobError(f"{device!r} is no torch device") from error
    if wanted.type == "cpu":
        return wanted
    module = getattr(torch, wanted.type, None)
    count = module.device_count() if module is not None and hasattr(module, "device_count") else 0
    if count <= (wanted.index or 0):
        raise DeviceMismatchError(f"device {device} was asked for, and this torch sees {count} of type {wanted.type}")
    return wanted


def spread(model: Any, kind: str) -> list[str] | None:
    """The devices over which a `device_map` spread the model, None for one alone; raises DeviceMismatchError.

    `auto` proves nothing: it takes what it finds, host memory and disk included.
    """
    placed = getattr(model, "hf_device_map", None)
    if not placed:
        return None
    devices = {f"{kind}:{place}" if isinstance(place, int) else str(place) for place in placed.values()}
    wrong = sorted(device for device in devices if device.partition(":")[0] != kind)
    if wrong:
        raise DeviceMismatchError(
            f"the model does not fit on the {kind} devices of the job: parts of it are on {', '.join(wrong)}"
        )
    return sorted(devices) if len(devices) > 1 else None


def verify_device(wanted: str, found: Any) -> None:
    """Compare what was asked for with where the model is; raises DeviceMismatchError.

    Libraries fall back to the CPU without a word, so a number in a log proves nothing.
    """
    kind, _, index = wanted.partition(":")
    if found.type != kind or (index and found.index is not None and found.index != int(index)):
        raise DeviceMismatchError(f"device {wanted} was asked for, and the model is on {found}")


def model_facts(model: Any) -> dict[str, Any]:
    """`dtype`, `parameters` and `attention` of a `device` event; tied weights count once."""
    return {
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": getattr(model.config, "_attn_implementation", None),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }
