"""Stand-in for the PyTorch plugin of Gaudi: what a program asks of `hpu` is done on the CPU and noted.

It proves control flow: which device is asked for, which card is taken, which back end is chosen. It proves nothing of
kernels, memory, speed or which types of numbers a card knows.

A card is a file `accelN` below `STANDIN_DEV/accel`, described below `STANDIN_SYS/class/accel`. The first use of a
device opens one, by the rules of the public bridge (1.19), and nobody else can have it then. `STANDIN_TAKES` names the
module that is taken whatever was asked for; empty: none. `STANDIN_CARDS` is what `device_count()` says, by default the
files. Each request is a JSON line in `STANDIN_NOTES`.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

if os.environ.get("STANDIN_BROKEN"):
    raise ImportError(os.environ["STANDIN_BROKEN"])

_taken: dict[str, int] = {}
_DEVICE_OF_TENSOR = torch.Tensor.device.__get__


def note(what: str, **fields: Any) -> None:
    """Append what was asked for, with what decides the card."""
    path = os.environ.get("STANDIN_NOTES")
    if path:
        names = ("HLS_MODULE_ID", "HABANA_VISIBLE_MODULES", "LOCAL_RANK", "PT_HPU_LAZY_MODE", "PT_ENABLE_INT64_SUPPORT")
        record = {"what": what, "pid": os.getpid(), **fields, **{name: os.environ.get(name) for name in names}}
        with Path(path).open("a") as file:
            file.write(json.dumps(record) + "\n")


def _cards() -> dict[int, Path]:
    """The nodes by module ID."""
    found = {}
    for node in sorted(Path(os.environ["STANDIN_DEV"], "accel").glob("accel[0-9]*")):
        described = Path(os.environ["STANDIN_SYS"], "class/accel", node.name, "device/module_id")
        found[int(described.read_text())] = node
    return found


def _visible() -> list[int]:
    text = os.environ.get("HABANA_VISIBLE_MODULES")
    return sorted(_cards()) if text is None else [int(item) for item in text.split(",")]


def _bind() -> None:
    """At import, in a distributed run: the list's entry of this rank."""
    if "HLS_MODULE_ID" not in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        rank = int(os.environ["LOCAL_RANK"])
        listed = os.environ.get("HABANA_VISIBLE_MODULES")
        os.environ["HLS_MODULE_ID"] = listed.split(",")[rank] if listed is not None else str(rank)


def acquire() -> None:
    """Open the card of this process, once."""
    if _taken:
        return
    cards, told = _cards(), os.environ.get("STANDIN_TAKES", os.environ.get("HLS_MODULE_ID"))
    if told == "":
        _taken["nothing"] = -1
        return
    for module in [int(told)] if told is not None else sorted(cards):
        if module not in cards:
            continue
        descriptor = os.open(cards[module], os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        _taken[str(cards[module])] = descriptor
        note("acquired", module=module)
        return
    raise RuntimeError("synStatus=8 [Device not found] Device acquire failed.")


def _is_hpu(value: Any) -> bool:
    if isinstance(value, torch.device):
        return bool(value.type == "hpu")
    return isinstance(value, str) and (value == "hpu" or value.startswith("hpu:"))


class _OnTheCPU(TorchFunctionMode):  # type: ignore[misc]  # torch is not typed where types are checked
    """Sends every device argument `hpu` to the CPU, and lets tensors that were sent say that they are there."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function == _DEVICE_OF_TENSOR and getattr(args[0], "_standin_hpu", False):
            return torch.device("hpu", 0)
        if function in (torch.device, torch._C._nn._parse_to):  # they name a device and put nothing on it
            return function(*args, **kwargs)
        asked = [value for value in (*args, *kwargs.values()) if _is_hpu(value)]
        if not asked:
            return _marked(function(*args, **kwargs), args)
        index = torch.device(asked[0]).index
        if index not in (None, 0):
            raise RuntimeError("the only supported device idx is 0")
        acquire()
        note("device", asked=str(asked[0]), function=getattr(function, "__name__", str(function)))
        cpu = torch.device("cpu")
        result = function(*(cpu if _is_hpu(value) else value for value in args),
                          **{name: cpu if _is_hpu(value) else value for name, value in kwargs.items()})  # fmt: skip
        if isinstance(result, torch.Tensor):
            result._standin_hpu = True
        return result


def _marked(result: Any, sources: Any) -> Any:
    """What was made of a tensor that was sent there is there too."""
    if any(getattr(source, "_standin_hpu", False) for source in sources if isinstance(source, torch.Tensor)):
        for part in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(part, torch.Tensor):
                part._standin_hpu = True
    return result


def _set_device(device: Any) -> None:
    """In one process `set_device(i)` binds it to the i-th visible module."""
    index = device if isinstance(device, int) else torch.device(device).index or 0
    if "HLS_MODULE_ID" not in os.environ:
        os.environ["HLS_MODULE_ID"] = str(_visible()[index])
    note("set_device", index=index)


def _count() -> int:
    """The cards of the machine, not of the selection."""
    return int(os.environ.get("STANDIN_CARDS") or len(_cards()))


def _module() -> types.ModuleType:
    hpu = types.ModuleType("torch.hpu")
    functions = {
        "device_count": _count,
        "is_available": lambda: _count() > 0,
        "is_initialized": lambda: bool(_taken),
        "is_bf16_supported": lambda: True,
        "current_device": lambda: 0,
        "set_device": _set_device,
        "get_device_name": lambda _=None: "GAUDI3",
        "synchronize": lambda *_: None,
        "manual_seed": lambda _: None,
        "manual_seed_all": lambda _: None,
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": lambda *_: None,
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state_all": lambda _: None,
        "memory_allocated": lambda *_: 0,
        "max_memory_allocated": lambda *_: 0,
        "reset_peak_memory_stats": lambda *_: None,
        "mem_get_info": lambda *_: (120 << 30, 128 << 30),
    }
    hpu.Stream, hpu.Event = torch.Stream, torch.Event  # type: ignore[attr-defined]  # the compiler looks for them
    for name, function in functions.items():
        setattr(hpu, name, function)
    hpu.random = hpu  # type: ignore[attr-defined]  # the real one has its random states in a module below
    return hpu


def _no_pinning(self: Any, *_: Any, **__: Any) -> Any:
    return self


def _compiled(graph: Any, _: Any, **__: Any) -> Any:
    note("compiled")
    return graph.forward


def _device_blind_ddp() -> None:
    """DDP looks at the true device of parameters; the CPU takes no list of devices."""
    from torch.nn.parallel import DistributedDataParallel

    original = DistributedDataParallel.__init__

    def init(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, **options: Any) -> None:
        note("ddp", device_ids=device_ids)
        original(self, module, **options)

    DistributedDataParallel.__init__ = init


def _parameters_stay() -> None:
    """A parameter made of a tensor that is there is there; making one goes round the mode."""
    original = torch.nn.Parameter.__new__

    def new(cls: Any, data: Any = None, *args: Any, **options: Any) -> Any:
        return _marked(original(cls, data, *args, **options), (data,))

    torch.nn.Parameter.__new__ = new


def _in_every_thread() -> None:
    """A mode holds in its own thread; transformers 5 reads weights in others."""
    original = threading.Thread.run

    def run(self: threading.Thread) -> None:
        with _OnTheCPU():
            original(self)

    threading.Thread.run = run  # type: ignore[method-assign]  # for as long as the process lives


_bind()
note("imported")
torch._register_device_module("hpu", _module())
sys.modules["torch.hpu"] = torch.hpu
torch.Tensor.pin_memory = _no_pinning
torch._dynamo.register_backend(compiler_fn=_compiled, name="hpu_backend")
_device_blind_ddp()
_in_every_thread()
_parameters_stay()
_OnTheCPU().__enter__()
