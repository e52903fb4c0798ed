"""Counters of Intel GPUs become rates, or say why there is none: never a number that nobody measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.model.devices import ReadingStatus
from accel_tui.vendors.xpu import rates
from accel_tui.vendors.xpu.clients import Client, parse
from accel_tui.vendors.xpu.engines import EngineTime
from accel_tui.vendors.xpu.rates import Counter, Power
from support.xpu_host import xe_client

NUMBERS = st.integers(0, 2**64 - 1)
I915 = """drm-driver:	i915
drm-client-id:	17
drm-pdev:	0000:4B:00.0
drm-total-local0:	6291456 KiB
drm-resident-local0:	6144 MiB
drm-total-system0:	4096 KiB
drm-engine-compute:	98112345678 ns
drm-engine-copy:	334455 ns
drm-engine-capacity-video:	2
drm-engine-video:	900 ns
drm-something-new:	77 parsecs
a line without meaning
"""


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6))
def test_a_share_lies_between_0_and_1_or_is_none(pairs: list[tuple[int, int]]) -> None:
    counter = Counter()
    for index, pair in enumerate(pairs):
        share = counter.share(*pair)
        assert share is None or (index > 0 and 0 <= share <= 1)
        assert counter.why


@given(NUMBERS, st.integers(1, 2**40), st.integers(0, 2**40))
def test_a_rate_is_growth_by_time(start: int, passed: int, grown: int) -> None:
    counter = Counter()
    assert counter.rate(start, start) is None
    assert counter.rate(start + grown, start + passed) == pytest.approx(grown / passed)


def test_ticks_and_microseconds_give_the_same_share() -> None:
    for unit in (1, 19.2):
        counter = Counter()
        counter.share(0, 1000)
        assert counter.share(int(600_000 * unit), 1000 + int(1_000_000 * unit)) == pytest.approx(0.6, abs=1e-4)


def test_what_goes_back_or_changes_its_unit_has_no_value_until_the_next_pair() -> None:
    counter = Counter()
    counter.share(5000, 10_000)
    assert counter.share(2**32, 10_500) is None  # ticks where microseconds were
    assert counter.why == rates.NO_RATIO
    assert counter.share(100, 11_000) is None  # wrapped
    assert counter.why == rates.WENT_BACK
    assert counter.share(350, 11_500) == 0.5


def test_a_counter_that_is_refreshed_rarely_keeps_its_older_pair() -> None:
    counter = Counter()
    counter.rate(100, 50)
    assert counter.rate(100, 50) is None
    assert counter.rate(300, 150) == 2


def test_power_waits_100_ms_and_never_guesses() -> None:
    now = 0.0
    power = Power(lambda: now)
    assert power.reading(1_000_000, 0, "x").status is ReadingStatus.PENDING
    assert power.reading(1_000_000, 50_000, "x").status is ReadingStatus.PENDING
    assert power.reading(15_800_000, 100_000, "x").value == 148
    assert power.reading(16_000_000, 150_000, "x").value == 148
    now = 1.0
    stands = power.reading(16_000_000, 150_000, "x")
    assert (stands.status, stands.reason) == (ReadingStatus.PENDING, rates.STANDS_STILL)
    gone_back = power.reading(5, 300_000, "x")
    assert (gone_back.status, gone_back.value) == (ReadingStatus.PENDING, None)
    assert power.reading(20_000_005, 500_000, "x").value == 100


def test_the_statistics_of_i915_are_read() -> None:
    client = parse(I915)
    assert client is not None
    assert (client.pdev, client.number) == ("0000:4b:00.0", "17")
    assert client.nanoseconds == {"compute": 98112345678, "copy": 334455, "video": 900}
    assert client.capacity == {"video": 2}
    assert client.local_bytes() == 6 << 30


def test_the_statistics_of_xe_are_read() -> None:
    client = parse(xe_client("0000:1a:00.0", 41, ccs=880112233, total=1466853721, drm_resident_vram1="1024 KiB"))
    assert client is not None
    assert client.cycles["ccs"] == 880112233
    assert client.total_cycles["ccs"] == 1466853721
    assert client.local_bytes() == (9437184 + 1024) << 10
    assert client.local_bytes(1) == 1 << 20


@given(st.text(max_size=300))
def test_no_file_crashes_the_reader(text: str) -> None:
    assert parse("drm-driver:\txe\ndrm-client-id:\t1\n" + text) is not None
    parse(text)


def client(number: str, ccs: int, total: int, capacity: int = 1) -> Client:
    return Client("0000:1a:00.0", number, cycles={"ccs": ccs}, total_cycles={"ccs": total}, capacity={"ccs": capacity})


def test_engine_time_adds_up_over_clients_and_is_divided_by_capacity() -> None:
    meter = EngineTime()
    assert (
        meter.readings([client("1", 0, 0), client("2", 0, 0, 4)])["utilization_percent"].status is ReadingStatus.PENDING
    )
    found = meter.readings([client("1", 400, 1000), client("2", 800, 1000, 4)])
    assert found["utilization_percent"].value == 60.0
    assert found["utilization_percent"].source == "fdinfo"
    # A new client has no pair yet, one whose counters went back neither: only the rest counts.
    assert meter.readings([client("1", 500, 2000), client("3", 9, 9)])["utilization_percent"].value == 10.0
    assert meter.readings([client("1", 0, 10)])["utilization_percent"].status is ReadingStatus.PENDING


def test_a_card_without_clients_has_no_engine_time() -> None:
    assert EngineTime().readings([]) == {}
