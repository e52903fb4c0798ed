"""A torch for the CPU that behaves like one for Intel GPUs, as far as programs decide by it. For tests alone.

Put this folder on PYTHONPATH and name the host's GPUs in `STANDIN_XPU` (JSON: a list of `{"address", "integrated",
"tiles", "family", "opens", "chip"}`, see `support.level_zero.Gpu`). What torch lists then follows from the environment
of the process by the model of the driver. Work goes to the CPU; each distinct request for a device is appended to the
file that `STANDIN_XPU_LOG` names. `STANDIN_XPU_COUNT_BEFORE` is what `device_count()` claims before the runtime starts,
`STANDIN_XPU_WITHOUT` takes parts away (`xccl`, `uuid`, `bf16`, `compiled`).

It proves control flow: arguments, environment, names of back ends, counts. It proves nothing of kernels, memory, speed
or dtypes.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from pathlib import Path
from typing import Any


class _AfterTorch:
    """Finds torch as usual and changes it right after it was executed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:  # not before: libraries ask for the spec without importing
            execute(module)
            sys.path.append(str(Path(__file__).parent))
            importlib.import_module("standin_xpu").install(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _AfterTorch)
