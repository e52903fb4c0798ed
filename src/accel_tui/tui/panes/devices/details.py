"""A device in full: what it is, what was read of it, who holds it, and why it cannot be picked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accel_tui.model.devices import Device, DeviceView, Reading, ReadingStatus
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import Glyphs, data_rate, size, thousands
from accel_tui.tui.naming import address, mask_number, number, selector, short_name
from accel_tui.tui.standing import Standing
from accel_tui.tui.widgets.pieces import Cell, Piece, fit

_UNITS: Mapping[str, tuple[str, str]] = {
    "utilization_percent": ("utilization", "%"),
    "memory_used_bytes": ("memory used", "bytes"),
    "memory_bandwidth_percent": ("memory bandwidth", "%"),
    "power_watts": ("power", "W"),
    "power_limit_watts": ("power limit", "W"),
    "energy_joules": ("energy", "J"),
    "temperature_celsius": ("temperature", "°C"),
    "temperature_memory_celsius": ("memory temperature", "°C"),
    "clock_mhz": ("clock", "MHz"),
    "throttle_reasons": ("throttle", ""),
    "ecc_corrected": ("ECC corrected", ""),
    "ecc_uncorrected": ("ECC uncorrected", ""),
    "pcie_gen": ("PCIe generation", ""),
    "pcie_width": ("PCIe width", ""),
    "pcie_rx_bytes_per_second": ("PCIe receive", "bytes/s"),
    "pcie_tx_bytes_per_second": ("PCIe send", "bytes/s"),
    "fan_rpm": ("fan", "rpm"),
    "links_up": ("links up", ""),
    "links_expected": ("links expected", ""),
    "reset_count": ("resets", ""),
    "utilization_compute_percent": ("compute engines", "%"),
    "utilization_render_percent": ("render engines", "%"),
    "utilization_copy_percent": ("copy engines", "%"),
    "utilization_media_percent": ("media engines", "%"),
    "memory_bandwidth_bytes_per_second": ("memory traffic", "bytes/s"),
}
_LABEL, _SHORT = 20, 14
_CARD_WIDTH = 52


def brief(view: DeviceView) -> Cell:
    """One line: number, address, index, product, driver, NUMA node."""
    device = view.device
    words = [address(device, short=False), "" if device.index is None else f"idx {device.index}"]
    words.append("" if not mask_number(device) else f"mask {mask_number(device)}")
    tail = [
        short_name(device),
        "" if not device.driver_version else f"driver {device.driver_version.partition('-')[0]}",
    ]
    tail.append("" if device.numa_node is None else f"NUMA {device.numa_node}")
    first = " ".join(filter(None, words))
    return (Piece(number(device), "strong", bold=True), Piece(" " + "  ".join(filter(None, [first, *tail])), "muted"))


def card(view: DeviceView, width: int, glyphs: Glyphs) -> list[Cell]:
    """What is worth a look, in as many columns as fit."""
    entries: list[Cell] = [
        (Piece(f"{label:<{_SHORT}}", "muted"), Piece(value)) for label, value in _identity(view.device) if value
    ]
    entries += readings(view, glyphs, label=_SHORT)
    columns = max(1, width // _CARD_WIDTH)
    rows = -(-len(entries) // columns)
    lines = []
    for row in range(rows):
        parts = [entries[at] for at in range(row, len(entries), rows)]
        lines.append(tuple(piece for part in parts for piece in fit(part, width // columns)))
    return lines


def _identity(device: Device) -> list[tuple[str, str]]:
    return [
        ("device", f"{selector([device]) or device.key}, {device.key}"),
        ("product", device.name),
        ("index", "" if device.index is None else f"{device.index}, may move between two starts"),
        ("mask number", mask_number(device)),
        ("NUMA node", "" if device.numa_node is None else str(device.numa_node)),
        ("serial", device.serial or ""),
        ("uuid", device.uuid or ""),
        ("driver", device.driver_version or ""),
        ("memory", "" if device.memory_total_bytes is None else size(device.memory_total_bytes)),
        ("state", device.state.value),
    ]


def sheet(view: DeviceView, stands: Standing, board: Board, glyphs: Glyphs) -> list[Cell]:
    """All that is known, a line each."""
    device = view.device
    lines = [_line(label, value) for label, value in _identity(device) if value]
    if device.simulated:
        lines.append(_line("simulated", "an invented device; jobs on it run on the CPU"))
    lines += [(), (_mark(stands, glyphs), Piece(f"{stands.words}  ", stands.role), Piece(stands.detail, "muted")), ()]
    lines += readings(view, glyphs)
    lines += _facts(device)
    return [*lines, *holders(view, board)]


def readings(view: DeviceView, glyphs: Glyphs, *, label: int = _LABEL) -> list[Cell]:
    """Each reading with its source, or why it has no number."""
    found = []
    for name, reading in view.readings.items():
        words, unit = _UNITS.get(name, (name, ""))
        if glyphs.ascii:
            unit = unit.replace("°", "")
        found.append((Piece(f"{words:<{label}}", "muted"), *_reading(reading, unit)))
    return found


def _reading(reading: Reading, unit: str) -> Cell:
    if reading.status is ReadingStatus.OK:
        source = () if reading.source is None else (Piece(f"  from {reading.source}", "faint"),)
        return (Piece(_value(reading.value, unit)), *source)
    role = {ReadingStatus.DENIED: "warn", ReadingStatus.FAILED: "error", ReadingStatus.STALE: "warn"}
    word = {ReadingStatus.ABSENT: "not on this device", ReadingStatus.PENDING: "asked, not answered yet"}
    status = word.get(reading.status, reading.status.value)
    reason = "" if not reading.reason or reading.reason == reading.status.value else f"  {reading.reason}"
    return (Piece(status, role.get(reading.status, "faint")), Piece(reason, "muted"))


def _value(value: float | str | None, unit: str) -> str:
    if not isinstance(value, (int, float)):
        return "none" if value in (None, "") else str(value)
    if unit == "bytes":
        return size(value)
    if unit == "bytes/s":
        return data_rate(value)
    text = f"{value:.1f}" if value != int(value) and abs(value) < 100 else thousands(round(value))
    return f"{text} {unit}".rstrip()


def _facts(device: Device) -> list[Cell]:
    """The vendor's own facts."""
    facts = {key: value for key, value in device.details.items() if value not in (None, "", [], {})}
    return [(), *(_line(key.replace("_", " "), _text(value)) for key, value in facts.items())] if facts else []


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def holders(view: DeviceView, board: Board) -> list[Cell]:
    """Every process that has it open."""
    if not view.holders:
        return [(), _line("holders", "none")]
    lines: list[Cell] = [(), (Piece("holders", "muted"),)]
    for holder in view.holders:
        run = board.runs.get(holder.run or "")
        owner = holder.user or "owner hidden"
        name = "" if run is None else f"  run {run.name}"
        who: Cell = (Piece(f"  {holder.pid:>8}  "), Piece(f"{owner:<12} ", "foreign" if run is None else "text"))
        lines.append((*who, Piece(f"{holder.command or ''}{name}", "muted")))
    return lines


def explained(view: DeviceView, stands: Standing, board: Board, glyphs: Glyphs) -> list[Cell]:
    """Why it can or cannot be picked, and why readings have no number, with what helps."""
    if stands.reason is None:
        first: list[Cell] = [(_mark(stands, glyphs), Piece("can be picked: "), Piece(stands.words, "muted"))]
    else:
        first = [(_mark(stands, glyphs), Piece("cannot be picked: ", "strong"), Piece(stands.reason))]
        hint = (
            f"A job whose devices say {selector([view.device]) or view.device.key} waits in the queue until it is free."
        )
        first.append((Piece(hint, "muted"),))
    lines: list[Cell] = [*first, ()]
    odd = [(name, one) for name, one in view.readings.items() if one.status not in (ReadingStatus.OK,)]
    for name, reading in odd:
        label = _UNITS.get(name, (name, ""))[0]
        lines.append((Piece(f"{label:<{_LABEL}}", "muted"), *_reading(reading, "")))
    problems = (
        [one for one in board.inventory.problems if one.vendor in (None, view.device.vendor)] if board.inventory else []
    )
    for problem in problems:
        lines += [(), (Piece(f"{glyphs.text('warning')} ", "warn"), Piece(problem.message))]
        if problem.remedy:
            lines.append((Piece(problem.remedy, "muted"),))
    return lines if lines[-1] else lines[:-1]


def denied(views: Sequence[DeviceView]) -> list[tuple[str, str]]:
    """Readings that some device denies, with the right that is missing."""
    found: dict[str, str] = {}
    for view in views:
        for name, reading in view.readings.items():
            if reading.status is ReadingStatus.DENIED:
                found.setdefault(_UNITS.get(name, (name, ""))[0], reading.reason or "")
    return list(found.items())


def _line(label: str, value: str) -> Cell:
    return (Piece(f"{label:<{_LABEL - 1}} ", "muted"), Piece(value))


def _mark(stands: Standing, glyphs: Glyphs) -> Piece:
    return Piece(f"{glyphs.text(stands.sign)} ", stands.sign_role or stands.role)
