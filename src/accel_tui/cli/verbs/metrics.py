"""`metrics`: the curves of a run, as a summary, JSON or CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accel_tui.cli.output import Part, Styled
from accel_tui.model.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from accel_tui.cli.context import Context

EXAMPLE = "accel-tui metrics last --csv > curves.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verb takes."""
    parser.add_argument("ref", metavar="RUN", help="id, name, first letters of an id, or `last`")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--csv", action="store_true", help="time,kind,device,name,step,value,unit")


def run(context: Context) -> int:
    """Print them."""
    if context.arguments.json and context.arguments.csv:
        raise UsageError("--json and --csv cannot stand together")
    document = context.client.run_metrics(context.arguments.ref)
    if context.arguments.json:
        context.output.document(document, indent=None)
    elif context.arguments.csv:
        _csv(context, document)
    else:
        _summary(context, document)
    return 0


def _csv(context: Context, document: dict[str, Any]) -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("time", "kind", "device", "name", "step", "value", "unit"))
    writer.writerows(_rows(document))
    context.output.text(text.getvalue())


def _rows(document: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Every point in long form: the run's own series first, then the readings of its devices."""
    for series in document["series"]:
        for moment, step, value in series["points"]:
            yield moment, "run", "", series["name"], step, value, series["unit"]
    for key, readings in document["devices"].items():
        for name, points in readings.items():
            for moment, value in points:
                yield moment, "device", key, name, "", value, ""


def _summary(context: Context, document: dict[str, Any]) -> None:
    output = context.output
    rows: list[list[Part]] = []
    for series in document["series"]:
        values = [value for _, _, value in series["points"] if value is not None]
        ends = (
            [_short(values[0]), _short(values[-1]), _short(min(values)), _short(max(values))] if values else ["–"] * 4
        )
        rows.append([Styled(series["name"], "strong"), series["unit"] or "", str(len(values)), *ends])
    if rows:
        output.table(("SERIES", "UNIT", "POINTS", "FIRST", "LAST", "LEAST", "MOST"), rows, right=frozenset(range(2, 7)))
    else:
        output.line(Styled("No figures yet: this run has told none.", "muted"))
    energy = document["energy_wh"]
    if energy["value"] is not None:
        output.line(f"energy {energy['value']:.1f} Wh, {energy['method']}")
    elif energy["reason"]:
        output.line(Styled(f"energy –: {energy['reason']}", "muted"))


def _short(value: float) -> str:
    return f"{value:.4g}"
