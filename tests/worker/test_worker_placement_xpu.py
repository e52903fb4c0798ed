"""Which Intel GPU a torch device is: the forms of a uuid, the files of a process, and what a process sees in all."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui_worker.placement import DIFFERENT, NOT_VERIFIED, VERIFIED, Held, Wanted, judge, judge_visible
from accel_tui_worker.placement_xpu import key_of, known_chip, octets, open_cards

B60 = "868011e2-0000-0000-1a00-000000000000"
"""As torch prints 8086:e211 at bus 0x1a."""


@pytest.mark.parametrize(
    "told",
    [B60, uuid.UUID(B60), uuid.UUID(B60).bytes, bytearray(uuid.UUID(B60).bytes), list(uuid.UUID(B60).bytes),
     B60.replace("-", "").upper()],
)  # fmt: skip
def test_every_form_of_a_uuid_is_read(told: object) -> None:
    identity = octets(told)
    assert identity is not None
    assert key_of(identity) == "pci:0000:1a:00.0"


@pytest.mark.parametrize("told", [None, "", "unknown", b"short", 7])
def test_what_is_no_uuid_is_none(told: object) -> None:
    assert octets(told) is None


@given(st.integers(0, 0xFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7), st.integers(0, 8))
def test_address_and_tile_come_out_of_the_bytes(domain: int, bus: int, device: int, function: int, tile: int) -> None:
    place = domain.to_bytes(2, "little") + bytes([bus, device, function])
    identity = bytes.fromhex("8680d50b2f00") + place + bytes(4) + bytes([tile])
    expected = f"pci:{domain:04x}:{bus:02x}:{device:02x}.{function:x}"
    assert key_of(identity) == (f"{expected}#{tile - 1}" if tile else expected)


def test_a_chip_uuid_is_compared_and_not_decoded() -> None:
    chip = bytes.fromhex("0123456789abcdef0123456789abcd02")
    assert key_of(chip) is None
    listed = f"pci:a={uuid.UUID(bytes=bytes(15) + bytes([1]))},pci:b={uuid.UUID(bytes=chip[:15] + bytes(1))}"
    assert known_chip(chip, listed) == "pci:b#1"
    assert known_chip(chip[:15] + bytes(1), f"pci:b={(chip[:15] + bytes(1))[::-1].hex()}") == "pci:b", "other order"
    assert known_chip(chip, "") is None


def test_open_files_name_the_cards(tmp_path: Path) -> None:
    xe = "pos:\t0\ndrm-driver:\txe\ndrm-client-id:\t41\ndrm-pdev:\t0000:1A:00.0\n"
    for number, text in enumerate((xe, xe, "pos:\t0\nflags:\t02\n", xe.replace("1A", "2b"))):
        (tmp_path / str(number)).write_text(text)
    assert open_cards(tmp_path) == ["0000:1a:00.0", "0000:2b:00.0"]
    assert open_cards(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("wanted", "held", "seen", "status"),
    [
        ("pci:a", Held("pci:a"), ["pci:a", "pci:b"], VERIFIED),
        ("pci:a", Held("pci:a"), ["pci:a"], DIFFERENT),
        ("pci:a", Held("pci:a"), ["pci:a", "pci:b", "pci:c"], DIFFERENT),
        ("pci:a", Held("pci:a"), ["pci:a", "pci:c"], DIFFERENT),
        ("pci:a", Held("pci:b"), ["pci:b", "pci:a"], DIFFERENT),
        ("pci:a", Held(None), [None, None], NOT_VERIFIED),
        ("pci:a", Held("pci:a"), ["pci:a", None], NOT_VERIFIED),
        ("pci:a", Held(None), [None], DIFFERENT),
    ],
)
def test_all_that_a_process_sees_is_the_selection(wanted: str, held: Held, seen: list[str | None], status: str) -> None:
    found = judge_visible(judge(Wanted(wanted), [held]), ["pci:a", "pci:b"], [Held(key) for key in seen])
    assert found.status == status
    assert (found.reason is None) == (status == VERIFIED)
    assert found.visible is not None


def test_a_lone_tile_that_shows_as_its_card_is_not_verified() -> None:
    assert judge(Wanted("pci:a#1"), [Held("pci:a")]).status == NOT_VERIFIED
    assert judge(Wanted("pci:a"), [Held("pci:a#1")]).status == DIFFERENT


def test_one_card_known_by_its_open_file_is_verified_without_a_uuid() -> None:
    found = judge(Wanted("pci:a"), [Held("pci:a", by="fdinfo")])
    assert judge_visible(found, ["pci:a"], [Held(None)]).status == VERIFIED
