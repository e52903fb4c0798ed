"""The tool's CSV: columns by name, cell by cell; nothing is ever taken from another card."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.vendors.gaudi import fields
from accel_tui.vendors.gaudi.table import Table, parse
from support.gaudi import EIGHT, cells, csv

BRACKETED = tuple(
    {"memory.total": "memory.total [MiB]", "memory.used": "memory.used [MiB]", "temperature.aip": "temperature.aip [C]",
     "utilization.aip": "utilization.aip [%]", "power.draw": "power.draw [W]"}.get(name, name)
    for name in fields.CORE
)  # fmt: skip
UNITS = {
    "memory.total": " MiB",
    "memory.used": " MiB",
    "temperature.aip": " C",
    "utilization.aip": " %",
    "power.draw": " W",
}
MARKS = ("N/A", "NA", "-", "", "[N/A]", "ERR")


def printed(*, units: bool = True, header: Sequence[str] = BRACKETED) -> str:
    rows = [cells(slot) for slot in EIGHT]
    if units:
        rows = [{name: text + UNITS.get(name, "") for name, text in row.items()} for row in rows]
    return csv(rows, header)


def read(text: str) -> Table:
    table = parse(text, fields.CORE)
    assert table is not None
    return table


def expect_all(table: Table) -> None:
    assert list(table.rows) == [slot.address for slot in EIGHT] or set(table.rows) == {slot.address for slot in EIGHT}
    for slot in EIGHT:
        named = {name: fields.reading(name, table, slot.address).value for name in fields.METRICS}
        assert named == {
            "memory.used": 672 << 20,
            "temperature.aip": 30.0 + slot.module,
            "utilization.aip": float(slot.module),
            "power.draw": 200.0 + slot.module,
        }
        assert fields.memory_total(table, slot.address) == 131072 << 20


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace(", ", ","),
        lambda text: text.upper().replace("MIB", "MiB"),
        lambda text: text.splitlines()[0] + "\n" + text,
        lambda text: text + text,
        lambda text: "[WARN] cannot write to /var/log/habana_logs, falling back\n\n" + text + "\n\n",
        lambda text: "\n".join(line + "," for line in text.splitlines()),
        lambda text: "\n".join(f"{line}, extra" for line in text.splitlines()),
        lambda text: text.replace("MiB", "MB"),
    ],
    ids=[
        "plain",
        "crlf",
        "bom",
        "no blanks",
        "upper case",
        "header twice",
        "printed twice",
        "noise",
        "comma",
        "extra",
        "MB",
    ],
)
def test_layouts(change) -> None:  # type: ignore[no-untyped-def]
    for units in (True, False):
        expect_all(read(change(printed(units=units))))


def test_header_without_brackets_and_in_another_order() -> None:
    expect_all(read(printed(units=False, header=tuple(reversed(fields.CORE)))))
    expect_all(read(printed(header=[name.title() for name in fields.CORE])))


def test_a_build_without_a_header_is_understood_by_what_was_asked() -> None:
    for units in (True, False):
        expect_all(read(printed(units=units).partition("\n")[2]))
    short = printed().partition("\n")[2].replace("HL-325L, ", "", 1)
    assert parse(short, fields.CORE) is None, "one odd line, and no line is taken"


def test_a_comma_at_the_end_is_no_cell_where_all_rows_have_it_and_a_fault_where_one_has() -> None:
    header, *rows = printed(units=False).splitlines()
    expect_all(read("\n".join([header, *(f"{row}, " for row in rows)])))
    stray = rows[3].split(", ")
    stray.insert(8, "stray")
    rows[3] = ", ".join([*stray[:-1], ""])
    table = read("\n".join([header, *rows]))
    assert table.rows[EIGHT[3].address].fault == "its line has 13 of 12 columns", "its values stand under other names"
    assert fields.reading("power.draw", table, EIGHT[4].address).value == 204.0


def test_three_bad_rows_have_three_causes_and_cost_nothing_else() -> None:
    lines = printed().splitlines()
    third = cells(EIGHT[2], **{"memory.used": "N/A"})
    fifth = cells(EIGHT[4], **{"power.draw": "[N/A]"})
    lines[3] = csv([third], fields.CORE).splitlines()[1]
    lines[5] = csv([fifth], fields.CORE).splitlines()[1]
    lines[6] = lines[6].rsplit(", ", 2)[0]
    table = read("\n".join(lines))
    assert len(table.rows) == 8
    reasons = [
        fields.reading("memory.used", table, EIGHT[2].address).reason,
        fields.reading("power.draw", table, EIGHT[4].address).reason,
        table.rows[EIGHT[5].address].fault,
    ]
    assert reasons == [
        "hl-smi answers 'N/A' for memory.used",
        "hl-smi answers '[N/A]' for power.draw",
        "its line has 10 of 12 columns",
    ]
    assert fields.reading("power.draw", table, EIGHT[2].address).value == 202.0
    assert fields.reading("memory.used", table, EIGHT[4].address).value == 672 << 20


@pytest.mark.parametrize("cell", ["12 parsecs", "four", "1e9", "-", "120 %", "0x10", "44 W", "١٢ %"])
def test_a_cell_that_is_no_percentage_is_no_number(cell: str) -> None:
    row = cells(EIGHT[0], **{"utilization.aip": cell})
    assert fields.reading("utilization.aip", read(csv([row], fields.CORE)), EIGHT[0].address).value is None


def test_nothing_for_everybody_is_a_matter_of_rights() -> None:
    rows = [{**cells(slot), **dict.fromkeys(fields.METRICS, "N/A")} for slot in EIGHT]
    assert fields.says_nothing(read(csv(rows, fields.CORE)))
    everything = csv([{} for _ in EIGHT], fields.CORE)
    assert read(everything).says_nothing, "not even the address"
    rows[3] = cells(EIGHT[3])
    assert not fields.says_nothing(read(csv(rows, fields.CORE)))


@pytest.mark.parametrize("text", ["", "no AIPs available\n", "index\n1\n", "\0\0", "Error: a, b, c\n"])
def test_what_is_no_table_is_none(text: str) -> None:
    assert parse(text, fields.CORE) is None


@given(
    rows=st.permutations(range(8)),
    columns=st.permutations(fields.CORE),
    missing=st.sets(st.tuples(st.integers(0, 7), st.sampled_from(fields.METRICS)), max_size=12),
    mark=st.sampled_from(MARKS),
    short=st.dictionaries(st.integers(0, 7), st.integers(1, 11), max_size=3),
)
def test_no_order_and_no_gap_moves_a_value_to_another_card(
    rows: list[int], columns: list[str], missing: set[tuple[int, str]], mark: str, short: dict[int, int]
) -> None:
    shown = []
    for number in rows:
        row = cells(EIGHT[number], **{name: mark for card, name in missing if card == number})
        line = ", ".join(row[name] for name in columns)
        shown.append(", ".join(line.split(", ")[: -short[number]]) if number in short else line)
    table = read("\n".join([", ".join(columns), *shown]))
    for number, slot in enumerate(EIGHT):
        kept = slot.address in table.rows
        if number not in short:
            assert kept
        elif not kept:
            continue
        if number in short:
            assert table.rows[slot.address].fault, "a short line gives no value at all"
            continue
        for name in fields.METRICS:
            value = fields.reading(name, table, slot.address).value
            expected = {"memory.used": 672 << 20, "temperature.aip": 30.0, "utilization.aip": 0.0, "power.draw": 200.0}[
                name
            ]
            own = expected if name == "memory.used" else expected + slot.module
            assert value == (None if (number, name) in missing else own)


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    table = parse(text, fields.CORE)
    for address in {} if table is None else table.rows:
        assert address
    parse(printed() + text, fields.CORE)
