"""Stand-in for the collective back end: gloo under the name `hccl`, registered as the real plugin does."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist


def _create(store: Any, rank: int, size: int, timeout: Any) -> Any:
    from habana_frameworks.torch import note

    note("hccl", rank=rank, size=size)
    return dist.ProcessGroupGloo(store, rank, size, timeout)


dist.Backend.register_backend("hccl", _create, devices=["hpu", "cpu"])
