"""Answers of xpu-smi: 1.x and 2.x are told apart and read by name, everything else is refused with words."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.vendors.xpu.smi import Refused, discovery, stats, version

FIRST = {
    "device_list": [
        {
            "device_function_type": "physical",
            "device_id": 0,
            "device_name": "Intel(R) Arc(TM) Pro B60 Graphics",
            "device_type": "GPU",
            "drm_device": "/dev/dri/card1",
            "pci_bdf_address": "0000:1a:00.0",
            "pci_device_id": "0xe211",
            "uuid": "00000000-0000-001a-0000-0000e2118086",
            "vendor_name": "Intel(R) Corporation",
        }
    ]
}
SECOND = {"device_list": [{"device_index": 1, "pci_bdf": "0000:4B:00.0", "device_name": "Intel(R) Arc(TM) B580"}]}
STATS_FIRST = {
    "device_id": 0,
    "device_level": [
        {"avg": 60.1, "max": 71.0, "metrics_type": "XPUM_STATS_GPU_UTILIZATION", "min": 0.0, "value": 61.7},
        {"avg": 147.2, "max": 151.0, "metrics_type": "XPUM_STATS_POWER", "min": 140.3, "value": 147.9},
        {"metrics_type": "XPUM_STATS_MEMORY_USED", "value": 9216.4},
        {"metrics_type": "XPUM_STATS_MEMORY_TEMPERATURE", "value": "N/A"},
    ],
    "tile_level": [
        {"tile_id": 0, "data_list": [{"metrics_type": "XPUM_STATS_GPU_FREQUENCY", "value": 2150}]},
        {"tile_id": 1, "data_list": [{"metrics_type": "XPUM_STATS_GPU_FREQUENCY", "value": 1900}]},
    ],
}
STATS_SECOND = {
    "device_index": 0,
    "pci_bdf": "0000:1a:00.0",
    "utilization": {"gpu_percent": {"tile_0": 61.7}, "compute_percent": {"tile_0": 60.2}},
    "power": {"gpu_power_w": {"tile_0": {"avg": 147.2, "current": 147.9}}, "energy_consumed_j": 14.7},
    "frequency": {"gpu_frequency_mhz": {"tile_0": {"avg": 2150, "current": 2150}}},
    "memory": {"used_mib": {"tile_0": {"avg": 9216, "current": 9216}}},
}
TABLE = """+-----------+----------------------------------------+
| Device ID | Device Information                     |
+-----------+----------------------------------------+
"""


def test_both_lines_are_told_apart() -> None:
    first, second = discovery(json.dumps(FIRST)), discovery(json.dumps(SECOND))
    assert (first.line, first.cards[0].address, first.cards[0].number) == ("1.x", "0000:1a:00.0", 0)
    assert (second.line, second.cards[0].address, second.cards[0].number) == ("2.x", "0000:4b:00.0", 1)
    assert discovery("warning: no daemon\n" + json.dumps(FIRST)).cards == first.cards
    assert discovery(json.dumps(FIRST["device_list"][0])).cards == first.cards


@pytest.mark.parametrize(
    "answer", ['{"device_list": "No device discovered"}', "No device discovered\n", "No GPU devices found."]
)
def test_an_empty_machine_has_no_cards(answer: str) -> None:
    assert discovery(answer).cards == ()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (TABLE, "text where JSON was asked for"),
        ('{"error": "Level Zero Initialization Error", "errno": 7}', "Level Zero Initialization Error"),
        ("", "nothing"),
        ("{", "text"),
        ('{"device_list": 3}', "no device_list"),
        ('"word"', "text"),
    ],
)
def test_anything_else_is_refused_with_words(answer: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        discovery(answer)


def test_figures_of_the_first_line_are_found_by_type() -> None:
    figures = stats(json.dumps(STATS_FIRST))
    assert figures.line == "1.x"
    assert figures.values == {
        "utilization_percent": 61.7,
        "power_watts": 147.9,
        "memory_used_bytes": pytest.approx(9216.4 * 2**20),
        "clock_mhz": 2150,
    }


@pytest.mark.parametrize("document", [STATS_SECOND, {"device_list": [STATS_SECOND]}], ids=["object", "list"])
def test_figures_of_the_second_line_are_found_by_group(document: object) -> None:
    figures = stats(json.dumps(document))
    assert (figures.line, figures.values["power_watts"]) == ("2.x", 147.9)
    assert figures.values["memory_used_bytes"] == 9216 * 2**20
    assert "temperature_celsius" not in figures.values


def test_the_version_is_that_of_the_command_not_of_its_service() -> None:
    answer = "CLI:\n    Version: 1.3.6.20260206\nService:\n    Version: 1.2.0\n    Level Zero Version: 1.28.2\n"
    assert version(answer) == "1.3.6.20260206"
    assert version("xpu-smi 2.0.1") == "2.0.1"
    assert version("none") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["device_list", "device_level", "tile_level", "data_list", "value", "memory", "used_mib", "tile_0", "current"]
    ), inner, max_size=4),
)  # fmt: skip


@given(JSON)
def test_no_answer_crashes_the_reader(document: object) -> None:
    for read in (discovery, stats):
        with contextlib.suppress(Refused):
            read(json.dumps(document))
