"""Selectors: grammar, resolution on invented hosts, and what `auto` hands out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.jobs.selectors import parse, resolve
from accel_tui.model.devices import DeviceState
from accel_tui.model.errors import UsageError
from support import hosts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("gaudi:", "an item is empty"),
        ("gaudi:0,,1", "an item is empty"),
        ("gaudi:a", "'a' is not a number"),
        ("gaudi:01", "'01' is not a number"),
        ("gaudi:-1", "is not a number"),
        ("gaudi:3-1", "backwards"),
        ("gaudi:0-999", "too long"),
        ("gaudi:0.1", "no tiles"),
        ("gaudi:0,0", "named twice"),
        ("gaudi:0-2,gaudi:1", "named twice"),
        ("xpu:0,xpu:0.1", "named too"),
        ("nvidia:0", "unknown vendor 'nvidia'"),
        ("0,1", "no vendor"),
        ("pci:17:00.0", "full PCI address"),
        ("auto:gaudi", "expected"),
        ("auto:gaudi:0", "expected"),
        ("auto:tpu:1", "unknown vendor"),
        ("auto,cpu", "cannot be combined"),
        ("cpu,cpu", "named twice"),
        ("gaudi:٣", "is not a number"),
    ],
)
def test_a_bad_selector_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse(text)
    assert "gaudi:0-3" in str(caught.value.remedy)


@given(st.text(max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        selector = parse(text)
    except UsageError:
        return
    assert parse(selector.text) == selector


@given(st.lists(st.integers(0, 63), min_size=1, unique=True), st.sampled_from(["gaudi", "xpu"]))
def test_a_written_selector_reads_back(numbers: list[int], vendor: str) -> None:
    written = ",".join(f"{vendor}:{number}" for number in numbers)
    short = f"{vendor}:" + ",".join(map(str, numbers))
    assert parse(written).parts == parse(short).parts
    assert ",".join(map(str, parse(short).parts)) == written


def test_gaudi_is_selected_by_module_and_ordered_by_it() -> None:
    selection = resolve("gaudi:3,1", hosts.gaudi_server())
    assert [device.module_id for device in selection.devices] == [1, 3]
    assert selection.verified


def test_xpu_is_selected_by_pci_rank_and_tiles_have_keys() -> None:
    assert resolve("xpu:1.1", hosts.max_server()).keys == (f"{hosts.xpu(1).key}#1",)
    assert resolve("xpu:1.2", hosts.max_server()).missing == ("xpu:1.2",)
    assert resolve("xpu:2,0", hosts.xpu_server()).keys == (hosts.xpu(0).key, hosts.xpu(2).key)


def test_the_same_card_by_two_names_is_an_error() -> None:
    with pytest.raises(UsageError, match="same card"):
        resolve(f"xpu:0,{hosts.xpu(0).key}", hosts.xpu_server())
    with pytest.raises(UsageError, match="same card"):
        resolve(f"xpu:0.1,{hosts.xpu(0).key}", hosts.max_server())


def test_what_is_not_here_is_missing_and_unverified() -> None:
    selection = resolve("gaudi:0,1", hosts.inventory(hosts.gaudi(0)))
    assert selection.missing == ("gaudi:1",)
    assert not selection.verified


def test_auto_takes_a_free_accelerator_then_the_cpu() -> None:
    assert resolve("auto", hosts.inventory(hosts.xpu(0), hosts.xpu(1), held=(hosts.xpu(0).key,))).keys == (
        hosts.xpu(1).key,
    )
    assert resolve("auto", hosts.inventory(hosts.integrated_gpu())).keys == ("cpu",)
    assert resolve("auto", hosts.inventory(hosts.unusable(hosts.gaudi(0), DeviceState.NEEDS_RESET))).keys == ("cpu",)


def test_auto_group_is_aligned_or_waits() -> None:
    held = (hosts.gaudi(0).key,)
    server = hosts.inventory(*(hosts.gaudi(module) for module in range(8)), held=held)
    assert [device.module_id for device in resolve("auto:gaudi:2", server).devices] == [2, 3]
    assert [device.module_id for device in resolve("auto:gaudi:4", server).devices] == [4, 5, 6, 7]
    assert resolve("auto:gaudi:8", server).waiting_for == "8 free gaudi devices"
    assert resolve("auto:gaudi:8", server).possible
    assert resolve("auto:gaudi:2", server, free=[hosts.gaudi(1).key, hosts.gaudi(2).key]).waiting_for is not None


def test_auto_takes_intel_gpus_that_torch_lists_together() -> None:
    kinds = ("dg2", "bmg", "dg2", "bmg", "bmg")
    server = hosts.inventory(*(hosts.xpu(rank, details={"family": kind}) for rank, kind in enumerate(kinds)))
    assert [device.pci_order for device in resolve("auto:xpu:2", server).devices] == [0, 2]
    assert [device.pci_order for device in resolve("auto:xpu:3", server).devices] == [1, 3, 4]
    assert not resolve("auto:xpu:4", server).possible
    assert resolve("auto:xpu:4", server).waiting_for == "4 free xpu devices of one product family"
    free = [hosts.xpu(rank).key for rank in (0, 1, 3)]
    assert [device.pci_order for device in resolve("auto:xpu:2", server, free=free).devices] == [1, 3]


def test_auto_waits_only_for_what_the_host_could_give() -> None:
    server = hosts.gaudi_server()
    assert not resolve("auto:gaudi:3", server).possible
    assert not resolve("auto:gaudi:9", server).possible
    outside = [hosts.gaudi(module).key for module in (0, 1, 4, 5, 6, 7)]
    assert [device.module_id for device in resolve("auto:gaudi:2", server, outside=outside).devices] == [2, 3]
    assert not resolve("auto:gaudi:4", server, outside=outside).possible
    assert not resolve("auto:xpu:2", hosts.inventory(hosts.xpu(0), hosts.integrated_gpu())).possible
    broken = hosts.inventory(hosts.unusable(hosts.xpu(0), DeviceState.RESETTING))
    assert resolve("auto:xpu:1", broken).possible
