"""Plans of every kind, launcher and vendor, compared with stored texts.

After a wanted change: `STORE_PLANS=1 pytest tests/unit/jobs/test_stored_plans.py`, then read the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accel_tui.jobs import kinds
from accel_tui.jobs.launchers.accelerate import CONFIGURATION
from support import hosts
from support.planning import job, planned

if TYPE_CHECKING:
    from accel_tui.model.devices import Inventory

STORED = Path(__file__).parents[2] / "data" / "plans"
HOSTS: dict[str, tuple[str, Inventory]] = {
    "cpu": ("cpu", hosts.inventory()),
    "cpu-beside-accelerators": ("cpu", hosts.inventory(hosts.gaudi(0), hosts.xpu(0))),
    "none": ("none", hosts.inventory(hosts.gaudi(0))),
    "gaudi-one": ("gaudi:3", hosts.gaudi_server()),
    "gaudi-pair": ("gaudi:1,0", hosts.gaudi_server()),
    "gaudi-absent": ("gaudi:0-1", hosts.inventory()),
    "gaudi-simulated": ("gaudi:0-1", hosts.gaudi_server(simulated=True)),
    "xpu-pair": ("xpu:2,0", hosts.xpu_server()),
    "xpu-tile": ("xpu:1.0", hosts.max_server()),
    "auto": ("auto", hosts.inventory(hosts.xpu(0), held=(hosts.xpu(0).key,))),
    "auto-waiting": ("auto:gaudi:2", hosts.gaudi_server(1)),
}
LAUNCHERS = ("none", "python", "torchrun", "accelerate")


def document(select: str, inventory: Inventory, kind: str, launcher: str) -> dict[str, Any]:
    made = planned(job(kind, launcher=launcher), select, inventory, port=29501 if kind == "train" else None)
    text = json.dumps(made.to_json()).replace(CONFIGURATION, "ACCELERATE_JSON")
    plan: dict[str, Any] = json.loads(text)
    return plan


@pytest.mark.parametrize("name", HOSTS)
def test_plans_are_the_stored_ones(name: str) -> None:
    select, inventory = HOSTS[name]
    made = {
        f"{kind} {launcher}": document(select, inventory, kind, launcher)
        for kind in kinds.names()
        for launcher in LAUNCHERS
    }
    file = STORED / f"{name}.json"
    if os.environ.get("STORE_PLANS"):
        file.write_text(json.dumps(made, indent=1) + "\n")
    assert made == json.loads(file.read_text())
