"""What stands beside the fields, and below the form for the one under the cursor. Pure."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from accel_tui.model.plans import Check, CheckLevel
from accel_tui.tui.board import Board, Draft
from accel_tui.tui.glyphs import thousands
from accel_tui.tui.naming import selector
from accel_tui.tui.panes.job.preview import short_path
from accel_tui.tui.panes.job.rows import Look, choices
from accel_tui.tui.widgets.pieces import Cell, Piece

if TYPE_CHECKING:
    from accel_tui.jobs.forms.fields import Field
    from accel_tui.jobs.forms.form import Form
    from accel_tui.tui.panes.job.outlook import Outlook

_CHECKS = {
    "model": "model.path", "model-hub": "model.path", "model-weights": "model.path", "data": "data.path",
    "model-tokenizer": "model.tokenizer", "data-eval": "data.eval_path", "cwd": "launch.cwd", "output": "train.output",
    "resume": "train.resume_from", "prompts": "generate.prompts_file", "program": "command.argv",
    "interpreter": "launch.python",
}  # fmt: skip
"""Which field a check speaks of."""
_WORDS = {CheckLevel.WARNING: "warn", CheckLevel.ASK: "warn", CheckLevel.REFUSAL: "error", CheckLevel.PASS: "muted"}


def notes(form: Form, draft: Draft, board: Board, outlook: Outlook | None, home: str) -> dict[str, Cell]:
    """By dotted path: what the host says of a value, what follows from it, or how it is written."""
    found: dict[str, Cell] = {
        "launch.time_limit": () if form.given(("launch", "time_limit")) else (Piece("like 6h or 1d 12h", "muted"),),
        "devices": _devices(draft, board),
    }
    if outlook is None or outlook.plan is None:
        return found
    for check in reversed(outlook.findings):
        name = _CHECKS.get(check.id)
        if name is not None and check.level in _WORDS:
            found[name] = (Piece(brief(check, form, home), _WORDS[check.level]),)
    plan = outlook.plan
    if plan.processes > 1:
        found["launch.processes"] = (Piece(f"{plan.processes} at this start", "muted"),)
    if not form.given(("launch", "python")):
        path = short_path(str(plan.facts.get("python", "")), home)
        found["launch.python"] = (Piece(f"{path}: {plan.facts.get('python_reason', '')}", "muted"),)
    found["train.arguments.per_device_train_batch_size"] = _batch(form, plan.processes)
    return found


def brief(check: Check, form: Form, home: str) -> str:
    """The message of a check without the path that stands beside it anyway."""
    message = check.message
    if check.level is CheckLevel.PASS and ": " in message:
        return message.partition(": ")[2]
    field = form.field(tuple(_CHECKS.get(check.id, "").split(".")))
    value = None if field is None else form.value(field.path)
    if isinstance(value, str) and value and value in message:
        return message.replace(f"{value} ", "").replace(value, "it")
    return message.replace(home, "~") if len(home) > 1 else message


def _devices(draft: Draft, board: Board) -> Cell:
    picked = selector(view.device for view in board.picked())
    if picked:
        return (Piece(f"picked: {picked}", "accent"),)
    if draft.job.get("devices") is None and draft.select:
        return (Piece(f"{draft.select} of the {'run' if draft.retry_of else 'session'}", "muted"),)
    return ()


def _batch(form: Form, processes: int) -> Cell:
    """How many examples a step takes in all."""
    each = form.value(("train", "arguments", "per_device_train_batch_size"))
    times = form.value(("train", "arguments", "gradient_accumulation_steps"))
    if not isinstance(each, int) or not isinstance(times, int) or each * times * processes == each:
        return ()
    parts = [str(each), *([f"{processes} ranks"] if processes > 1 else []), *([f"{times} steps"] if times > 1 else [])]
    return (Piece(f"{' × '.join(parts)} = {thousands(each * times * processes)}", "muted"),)


def field_help(one: Field, form: Form, look: Look, width: int, rows: int) -> list[Cell]:
    """The field under the cursor: where it stands, what it takes, what it is for, and why something cannot be."""
    default = "" if one.rows or one.required else form.reset(one.path).text(one)
    kind = one.shape.value if one.library is None else f"{one.shape.value} of {one.library}"
    about = f"{kind}, default {default}" if default else f"{kind}, needed" if one.required else kind
    first: Cell = (Piece(one.label, "strong", bold=True), Piece(f"   {one.name}   {about}", "muted"))
    told = [one.help.replace("`", "")]
    reason = look.off(one)
    if reason is not None:
        told.append(f"Changes nothing now: {reason}.")
    told += [f"{option}: {why}." for option in choices(one) if (why := look.not_choice(one, option)) is not None]
    if choices(one) and len(one.choices) > 4:
        told.append(f"One of {', '.join(one.choices)}.")
    lines = textwrap.wrap(" ".join(told), max(20, width)) or [""]
    return [first, *((Piece(line),) for line in lines[: max(0, rows - 1)])]
