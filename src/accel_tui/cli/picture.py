"""Devices and runs as plain text, in the language of the screen: sign, word, then figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accel_tui.cli import figures
from accel_tui.cli.output import Part, Styled
from accel_tui.model.devices import DeviceState, ReadingStatus
from accel_tui.model.runs import RunState
from accel_tui.vendors.gaudi.generations import hidden_use_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accel_tui.cli.output import Output
    from accel_tui.model.devices import DeviceView, Inventory, Reading
    from accel_tui.model.runs import Diagnosis, Run

_DEVICE_HEADS = ("DEVICE", "PCI", "NAME", "UTIL %", "MEM GiB", "°C", "W", "HOLDER")


def device_table(output: Output, inventory: Inventory) -> None:
    """One row per device, then what is wrong, one line each."""
    heads = tuple("C" if output.ascii_only and head == "°C" else head for head in _DEVICE_HEADS)
    if inventory.devices:
        rows = [_device_row(output, view) for view in inventory.devices]
        output.table(heads, rows, right=frozenset({3, 4, 5, 6}))
    else:
        output.line(Styled("No device is seen.", "muted"))
    for line in _denied(inventory):
        output.line(output.glyph("warning"), " ", line)
    for problem in inventory.problems:
        vendor = f"{problem.vendor}: " if problem.vendor else ""
        output.line(output.glyph("warning"), " ", f"{vendor}{problem.message}")
        if problem.remedy:
            output.line("  ", Styled(output.hint(problem.remedy), "muted"))


def _device_row(output: Output, view: DeviceView) -> list[Part]:
    device = view.device
    name = f"{device.name} (simulated)" if device.simulated else device.name
    return [
        Styled(short_key(view) + _mask_number(view), "strong"),
        (device.pci_address or "").removeprefix("0000:"),
        name,
        _figure(view, "utilization_percent", lambda value: f"{value:.0f}"),
        _memory(view),
        _figure(view, "temperature_celsius", lambda value: f"{value:.0f}"),
        _figure(view, "power_watts", lambda value: f"{value:.0f}"),
        _joined(_holder(output, view)),
    ]


def short_key(view: DeviceView) -> str:
    """The selector that a person types: `gaudi:3`, `xpu:0`, `cpu`, else the key."""
    device = view.device
    if device.vendor == "cpu":
        return "cpu"
    # A Gaudi card goes by its module ID alone: another number would be taken for that of another card.
    number = device.module_id if device.vendor == "gaudi" or device.module_id is not None else device.pci_order
    if number is None:
        return device.key
    tile = device.key.rpartition("#")[2] if "#" in device.key else ""
    return f"{device.vendor}:{number}" + (f".{tile}" if tile else "")


def _mask_number(view: DeviceView) -> str:
    """The number that an affinity mask has for it, where that is not its position."""
    number = view.device.details.get("affinity_mask")
    return f" (mask {number})" if number is not None else ""


def _figure(view: DeviceView, name: str, write: Callable[[float], str]) -> Part:
    return reading_text(view.readings.get(name), write)


def reading_text(reading: Reading | None, write: Callable[[float], str]) -> Part:
    """The number of a reading that is ok, else its status in words; never a number that is not one."""
    if reading is None or reading.status in (ReadingStatus.ABSENT, ReadingStatus.STALE):
        return Styled("–", "muted")
    if reading.status is ReadingStatus.OK and isinstance(reading.value, (int, float)):
        return write(float(reading.value))
    return Styled(reading.status.value, "error" if reading.status is ReadingStatus.FAILED else "warn")


def _memory(view: DeviceView) -> Part:
    used = reading_text(view.readings.get("memory_used_bytes"), lambda value: figures.memory(value)[0])
    total = view.device.memory_total_bytes
    if isinstance(used, Styled) or total is None:
        return used
    return used + figures.memory(0, total)[1]


def _holder(output: Output, view: DeviceView) -> list[Part]:
    stale = next((r for r in view.readings.values() if r.status is ReadingStatus.STALE), None)
    if view.device.state is not DeviceState.OPERATIONAL:
        return [output.glyph("failed"), " ", view.device.state.value]
    if stale is not None:
        age = "" if stale.age_seconds is None else f" {figures.duration(stale.age_seconds)}"
        return [output.glyph("stale"), f" stale{age}"]
    if view.reserved_by is not None:
        claim = view.reserved_by
        return [output.glyph("reserved"), f" reserved for {claim.run or 'a program'} of {claim.user or 'owner hidden'}"]
    if view.holders:
        first = view.holders[0]
        more = f" and {len(view.holders) - 1} more" if len(view.holders) > 1 else ""
        if first.run:
            return [output.glyph("running"), f" run {first.run}{more}"]
        return [output.glyph("foreign"), f" {first.user or 'owner hidden'}: {first.command or 'pid'} {first.pid}{more}"]
    if view.device.vendor == "gaudi" and hidden_use_bytes(view) is not None:
        return [output.glyph("warning"), " in use? (holder hidden or stale value)"]
    return [output.glyph("free"), " free"]


def _joined(parts: Iterable[Part]) -> Part:
    """Several parts as one cell; the role of the first, which is the sign, holds for all."""
    listed = list(parts)
    text = "".join(part if isinstance(part, str) else part.text for part in listed)
    first = listed[0]
    return text if isinstance(first, str) else Styled(text, first.role)


def _denied(inventory: Inventory) -> list[str]:
    reasons: dict[str, str] = {}
    for view in inventory.devices:
        for name, reading in view.readings.items():
            if reading.status is ReadingStatus.DENIED and name in ("utilization_percent", "power_watts"):
                reasons.setdefault(name.rpartition("_")[0], reading.reason or "denied")
    return [f"{name} denied: {reason}" for name, reason in reasons.items()]


def state_word(run: Run) -> str:
    """The word for where a run stands: its result once finished, `held` for a held one, else its state."""
    if run.result is not None:
        return run.result.value
    return run.state.value


def state_cell(output: Output, run: Run) -> Styled:
    """Sign and word as one cell."""
    word = state_word(run)
    sign = output.glyph(word)
    shown = "held" if run.state is RunState.QUEUED and run.held else word
    return Styled(f"{sign.text} {shown}", sign.role)


def run_table(output: Output, runs: Iterable[Run]) -> None:
    """One row per run, newest first as given."""
    rows: list[list[Part]] = [
        [
            state_cell(output, run),
            Styled(run.name, "strong"),
            run.id,
            run.kind,
            " ".join(run.devices),
            figures.clock(run.started or run.created),
            figures.span(run.started, run.ended),
            remark(run),
        ]
        for run in runs
    ]
    if not rows:
        output.line(Styled("No runs yet.", "muted"))
        output.line(Styled("They appear here as soon as one is queued.", "muted"))
        return
    output.table(("STATE", "NAME", "RUN", "KIND", "DEVICES", "SINCE", "TIME", "REMARK"), rows, right=frozenset({6}))


def remark(run: Run) -> str:
    """What matters most about a run now: why it waits, how far it is, or why it ended."""
    if run.state is RunState.QUEUED:
        return run.held or (f"waits for {run.waiting_for}" if run.waiting_for else "")
    if run.state is RunState.FINISHED:
        return run.diagnosis.summary if run.diagnosis else ending(run)
    return ", ".join([*progress_words(run), *run.notes])


def place_words(found: Diagnosis) -> str:
    """Where a failure stands: `rank 1, line 812 of the log`; empty where that is not known."""
    rank = "" if found.rank is None else f"rank {found.rank}"
    return ", ".join(filter(None, (rank, "" if found.line is None else f"line {found.line} of the log")))


def ending(run: Run) -> str:
    """Why a finished run ended, without a diagnosis: `exit code 3`, `SIGKILL`, `time-limit`; empty after success."""
    result = state_word(run)
    if result == "succeeded":
        return ""
    words = []
    if run.cause is not None and run.cause.value not in ("exit", "signal"):
        words.append(run.cause.value)
    if run.signal:
        words.append(run.signal)
    elif run.exit_code:
        words.append(f"exit code {run.exit_code}")
    return ", ".join(words)


def progress_words(run: Run, *, phase: bool = True) -> list[str]:
    """Step (or the phase before the first one), loss, speed and time left, as far as the worker told them."""
    now = run.progress
    words: list[str] = []
    if now.step is not None:
        unit = "prompt" if run.kind == "generate" else "step"
        words.append(f"{unit} {now.step}" + (f"/{now.total}" if now.total else ""))
    elif now.phase and phase:
        words.append(now.phase)
    if now.loss is not None:
        words.append(f"loss {figures.loss(now.loss)}")
    if now.learning_rate is not None:
        words.append(f"lr {figures.learning_rate(now.learning_rate)}")
    if now.tokens_per_second is not None:
        words.append(f"{figures.rate(now.tokens_per_second)} tok/s")
    if now.eta_seconds is not None:
        words.append(f"{figures.duration(now.eta_seconds)} left")
    return words
