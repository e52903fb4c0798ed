"""What `sitecustomize` beside it does to torch: devices by the model of the driver, work on the CPU."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

MEMORY = 24 << 30
_WITHOUT = os.environ.get("STANDIN_XPU_WITHOUT", "").split(",")


def _model() -> Any:
    """`support.level_zero`, loaded by its place: the tests' folder stays off the path of the program."""
    file = Path(__file__).parents[2] / "level_zero.py"
    spec = importlib.util.spec_from_file_location("standin_level_zero", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def gpus(level_zero: Any) -> list[Any]:
    found = []
    for card in json.loads(os.environ.get("STANDIN_XPU", "[]")):
        fields = {name: value for name, value in card.items() if name not in ("address", "chip")}
        domain, bus, slot, function = re.split("[:.]", card["address"])
        found.append(level_zero.Gpu(int(domain, 16), int(bus, 16), int(slot, 16), int(function), **fields))
    return found


class Runtime:
    """The devices of this process, decided once by its environment when it starts."""

    def __init__(self) -> None:
        self._devices: list[Any] | None = None
        self.current = 0

    def start(self) -> list[Any]:
        if self._devices is None:
            level_zero = _model()
            self._devices = level_zero.torch_list(level_zero.visible(gpus(level_zero), os.environ))
        return self._devices

    @property
    def started(self) -> bool:
        return self._devices is not None

    def count(self) -> int:
        claimed = os.environ.get("STANDIN_XPU_COUNT_BEFORE")
        return int(claimed) if claimed is not None and not self.started else len(self.start())

    def index(self, device: Any) -> int:
        """The index that `device` means; raises as the runtime does for one beyond the last."""
        text = str(device)
        named = int(text) if text.isdecimal() else int(text.partition(":")[2] or self.current)
        if named >= len(self.start()):
            raise RuntimeError(f"device is out of range, device is {named}, total number of device is {self.count()}")
        return named


RUNTIME = Runtime()


def _uuid(shown: Any) -> bytes | None:
    if "uuid" in _WITHOUT:
        return None
    gpu, tile = shown.gpu, 0 if shown.whole else shown.tiles[0] + 1
    for card in json.loads(os.environ["STANDIN_XPU"]):
        if card["address"] == gpu.address and card.get("chip"):
            return bytes.fromhex(card["chip"])[:15] + bytes([tile])
    place: bytes = gpu.domain.to_bytes(2, "little") + bytes([gpu.bus, gpu.slot, gpu.function])
    return b"\x86\x80\x11\xe2\x00\x00" + place + bytes(4) + bytes([tile])


def _properties(device: Any = None) -> SimpleNamespace:
    index = RUNTIME.current if device is None else RUNTIME.index(device)
    shown = RUNTIME.start()[index]
    return SimpleNamespace(
        name="Stand-in GPU", uuid=_uuid(shown), total_memory=MEMORY, has_bfloat16_conversions="bf16" not in _WITHOUT,
        driver_version="1.6.33578+15", is_integrated_gpu=shown.gpu.integrated, platform_name="Level-Zero",
    )  # fmt: skip


def _set_device(device: Any) -> None:
    RUNTIME.current = RUNTIME.index(device)


def _stream(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(synchronize=lambda: None, is_capturing=lambda: False)


def install(torch: Any) -> None:
    """Change `torch` in place."""
    if "compiled" in _WITHOUT:
        return
    _xpu(torch)
    _accelerator(torch)
    _distributed(torch)
    _mode(torch)


def _xpu(torch: Any) -> None:
    state = torch.get_rng_state
    replaced: dict[str, Any] = {
        "_is_compiled": lambda: True,
        "init": RUNTIME.start,
        "_lazy_init": RUNTIME.start,
        "is_initialized": lambda: RUNTIME.started,
        "device_count": RUNTIME.count,
        "is_available": lambda: RUNTIME.count() > 0,
        "current_device": lambda: RUNTIME.start() and RUNTIME.current,
        "set_device": _set_device,
        "get_device_properties": _properties,
        "get_device_name": lambda device=None: _properties(device).name,
        "is_bf16_supported": lambda including_emulation=True: including_emulation or "bf16" not in _WITHOUT,
        "mem_get_info": lambda device=None: (MEMORY, MEMORY),
        "device": lambda device: contextlib.nullcontext(),
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "memory_allocated": lambda device=None: 0,
        "memory_reserved": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "get_rng_state": lambda device="xpu": state(),
        "get_rng_state_all": lambda: [state() for _ in RUNTIME.start()],
        "set_rng_state": lambda new, device="xpu": None,
        "set_rng_state_all": lambda states: None,
        "current_stream": _stream,
    }
    for name, function in replaced.items():
        setattr(torch.xpu, name, function)
        if hasattr(torch.xpu.random, name):
            setattr(torch.xpu.random, name, function)

    torch._C._xpu_getCurrentRawStream = lambda device: 0  # inductor imports it by name where torch is compiled for XPU


def _accelerator(torch: Any) -> None:
    replaced: dict[str, Any] = {
        "is_available": lambda: RUNTIME.count() > 0,
        "device_count": RUNTIME.count,
        "current_accelerator": lambda check_available=False: torch.device("xpu"),
        "current_device_index": lambda: RUNTIME.current,
        "set_device_index": _set_device,
        "current_stream": _stream,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
    }
    for name, function in replaced.items():
        if hasattr(torch, "accelerator") and hasattr(torch.accelerator, name):
            setattr(torch.accelerator, name, function)


def _distributed(torch: Any) -> None:
    """`xccl` moves its data through gloo."""
    if "xccl" in _WITHOUT:
        return
    import torch.distributed.distributed_c10d as c10d

    class ProcessGroupXCCL:
        class Options:
            def __init__(self, *_: Any, **__: Any) -> None:
                self._timeout = None

        def __new__(cls, store: Any, rank: int, size: int, *_: Any) -> Any:
            return c10d.ProcessGroupGloo(store, rank, size)

    c10d._XCCL_AVAILABLE = True
    c10d.ProcessGroupXCCL = ProcessGroupXCCL
    for module in (c10d, torch.distributed):
        module.is_xccl_available = lambda: True
    c10d.Backend.backend_capability["xccl"] = ["cpu", "xpu"]
    inner = torch.nn.parallel.DistributedDataParallel.__init__

    def plain(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *rest: Any, **more: Any
    ) -> None:
        inner(self, module, None, None, *rest, **more)

    torch.nn.parallel.DistributedDataParallel.__init__ = plain


def _mode(torch: Any) -> None:
    from torch.overrides import TorchFunctionMode

    asked: set[tuple[str, str]] = set()
    device_of = torch.Tensor.device.__get__
    pinned, moved_to = torch.Tensor.pin_memory, torch.Tensor.to

    class Elsewhere(TorchFunctionMode):  # type: ignore[misc]  # torch is not typed where types are checked
        """Sends what is meant for an XPU to the CPU; parameters say that they are where they were sent."""

        place: Any = None

        def __torch_function__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
            options = options or {}
            if function == device_of:
                real = function(*arguments)
                moved = Elsewhere.place is not None and isinstance(arguments[0], torch.nn.Parameter)
                return Elsewhere.place if moved and real.type == "cpu" else real
            if function == pinned:
                return arguments[0]
            if function is torch.device:  # a number alone means the accelerator
                number = arguments and isinstance(arguments[0], int)
                return function("xpu", *arguments) if number else function(*arguments, **options)
            if isinstance(options.get("device"), int):
                options["device"] = f"xpu:{options['device']}"
            if function == moved_to and len(arguments) > 1 and type(arguments[1]) is int:
                arguments = [arguments[0], f"xpu:{arguments[1]}", *arguments[2:]]
            arguments = [self.sent(function, one) for one in arguments]
            options = {name: self.sent(function, one) for name, one in options.items()}
            return function(*arguments, **options)

        @staticmethod
        def sent(function: Any, argument: Any) -> Any:
            text = str(argument) if isinstance(argument, (str, torch.device)) else ""
            if re.fullmatch(r"xpu(:\d+)?", text) is None:
                return argument
            index = RUNTIME.index(text)
            name = getattr(function, "__name__", str(function))
            Elsewhere.place = torch.device("xpu", index)
            log = os.environ.get("STANDIN_XPU_LOG")
            if log and (name, text) not in asked:
                asked.add((name, text))
                with Path(log).open("a") as file:
                    file.write(json.dumps({"pid": os.getpid(), "call": name, "device": text}) + "\n")
            return torch.device("cpu")

    Elsewhere().__enter__()
    run = threading.Thread.run

    def within(self: threading.Thread) -> None:
        with Elsewhere():
            run(self)

    threading.Thread.run = within  # type: ignore[method-assign]
