"""What the plan tells a worker about the Intel GPUs that its ranks must hold."""

from __future__ import annotations

import pytest

from accel_tui.model.devices import Inventory
from support import hosts
from support.planning import job, planned, variables

CHIP = "01234567-89ab-cdef-0123-456789abcd00"


@pytest.mark.parametrize(
    ("select", "server", "expected"),
    [
        ("xpu:2,0", hosts.xpu_server(), [hosts.xpu(0).key, hosts.xpu(2).key]),
        ("xpu:1.0,1.1", hosts.max_server(), [f"{hosts.xpu(1).key}#0", f"{hosts.xpu(1).key}#1"]),
        ("xpu:0,1.1", hosts.max_server(), [hosts.xpu(0).key, f"{hosts.xpu(1).key}#1"]),
        ("xpu:0,1", hosts.inventory(hosts.unusable(hosts.xpu(0)), hosts.xpu(1)), [hosts.xpu(1).key, hosts.xpu(0).key]),
        ("xpu:0,pci:0000:00:02.0", hosts.inventory(hosts.xpu(0), hosts.integrated_gpu()), [hosts.xpu(0).key]),
    ],
    ids=["cards", "tiles", "card-and-tile", "closed-card", "integrated"],
)
def test_keys_are_told_in_the_order_of_ranks(select: str, server: Inventory, expected: list[str]) -> None:
    assert variables(planned(job("train"), select, server))["ACCEL_TUI_CARDS"] == ",".join(expected)


def test_uuids_are_told_only_where_they_name_no_address() -> None:
    usual = hosts.xpu(0, uuid="868011e2-0000-0000-1a00-000000000000")
    turned = hosts.xpu(1, uuid="00000000-0000-002a-0000-0000e2118086")
    server = hosts.inventory(usual, turned, hosts.xpu(2, uuid=CHIP))
    assert "ACCEL_TUI_CARD_UUIDS" not in variables(planned(job("train"), "xpu:0,1", server))
    names = variables(planned(job("train"), "xpu:1,2", server))
    assert names["ACCEL_TUI_CARD_UUIDS"] == f"{hosts.xpu(2).key}={CHIP}"


def test_generation_spreads_over_several_gpus_without_a_question() -> None:
    assert "one-process" not in {check.id for check in planned(job("generate"), "xpu:0,1", hosts.xpu_server()).checks}
    assert "one-process" in {check.id for check in planned(job("train"), "xpu:0,1", hosts.xpu_server()).checks}
