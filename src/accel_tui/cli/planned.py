"""Planning in this process: the same pure function that the supervisor uses, over the inventory at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accel_tui.cli.output import Output, Styled
from accel_tui.model.errors import DeviceAbsentError
from accel_tui.model.plans import CheckLevel, EnvironmentAction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accel_tui.cli.choosing import Chosen
    from accel_tui.cli.context import Context
    from accel_tui.model.devices import Inventory
    from accel_tui.model.plans import Check, Plan


def inventory(context: Context, *, start: bool) -> Inventory:
    """The devices: from a supervisor when one runs (or `start` allows to start one), else looked up here and now."""
    if start:
        return context.client.devices()
    running = context.running_client()
    if running is not None:
        return running.devices()
    from accel_tui.devices.survey import survey

    return survey(context.settings, context.demo, environment=context.environment)


def make_plan(context: Context, chosen: Chosen, devices: Inventory, *, beside: bool = False) -> Plan:
    """What a run of `chosen` submitted from here would be; with `beside` it works in a folder of its own down here.

    Raises:
        UsageError, FileError: the job cannot be planned at all.
    """
    from accel_tui.cli.choosing import working_folder
    from accel_tui.client.submitter import split_environment
    from accel_tui.jobs import planning
    from accel_tui.store.identifiers import new_id

    base, secrets = split_environment(context.environment, chosen.secret_names)
    identifier = new_id()
    folder = (
        Path(working_folder()) / f"accel-tui-{identifier}" if beside else context.folder_in_force / "runs" / identifier
    )
    return planning.plan(
        chosen.job,
        select=chosen.select,
        inventory=devices,
        base=base,
        cwd=working_folder(),
        folder=str(folder),
        identifier=identifier,
        settings=context.settings,
        secrets=frozenset(secrets),
    )


def examined(context: Context, chosen: Chosen, plan: Plan, *, execute: bool) -> Plan:
    """The plan with the checks that look at the host; `execute` adds those that run the job's interpreter."""
    import dataclasses

    from accel_tui.client.submitter import split_environment
    from accel_tui.jobs.checks import examine

    base, secrets = split_environment(context.environment, chosen.secret_names)
    found = examine(chosen.job, plan, {**base, **secrets}, execute=execute)
    return dataclasses.replace(plan, checks=(*plan.checks, *found))


def apart_from_a_run(plan: Plan) -> Plan:
    """The plan for a program that is no run: without variables that tell a run who it is or name a place of its folder.

    What a program made there would be taken for a run whose record is damaged.
    """
    import dataclasses

    kept = tuple(
        change
        for change in plan.environment
        if not change.name.startswith("ACCEL_TUI_RUN") and not (change.value or "").startswith(plan.folder)
    )
    return dataclasses.replace(plan, environment=kept)


def refuse_absent(select: str, plan: Plan) -> None:
    """Go on only where the host has what is selected, be it busy.

    Raises:
        DeviceAbsentError: it has not.
    """
    if plan.verified:
        return
    message = f"not every device of {select} is on this host"
    if plan.waiting_for is not None:
        message = f"this host can never give {select!r}: {plan.waiting_for}"
    raise DeviceAbsentError(message, remedy="see `accel-tui devices`")


def tell_plan(output: Output, plan: Plan, devices: Inventory) -> None:
    """A plan as text: command, environment with reasons, devices as a person selects them, checks, warnings."""
    import shlex

    from accel_tui.cli.picture import short_key

    known = {view.device.key: view for view in devices.devices}

    def named(key: str) -> str:
        if key not in known:
            return key
        name, number = short_key(known[key]), known[key].device.details.get("affinity_mask")
        words = ([] if name == key else [key]) + ([] if number is None else [f"mask {number}"])
        return f"{name} ({', '.join(words)})" if words else name

    chosen = [named(key) for key in plan.devices]

    def fact(word: str, value: str | Styled) -> None:
        output.line(Styled(f"{word:<9}", "muted"), value)

    fact("job", Styled(plan.job, "strong"))
    fact("kind", plan.kind)
    fact("devices", " ".join(chosen) or (f"waits for {plan.waiting_for}" if plan.waiting_for else "none"))
    if not plan.verified:
        fact("", Styled("not verified: a selected device is not on this host", "warn"))
    fact("in", plan.cwd)
    fact("folder", plan.folder)
    fact("command", shlex.join(plan.argv))
    for change in plan.environment:
        value = "(secret)" if change.secret else change.value or ""
        shown = {
            EnvironmentAction.SET: f"+ {change.name}={value}",
            EnvironmentAction.UNSET: f"- {change.name}",
            EnvironmentAction.KEEP: f"  {change.name}={value}",
        }[change.action]
        output.line(Styled("environ  ", "muted"), shown, "  ", Styled(change.reason, "muted"))
    tell_checks(output, plan.checks)
    for warning in plan.warnings:
        output.line(output.glyph("warning"), f" {warning.message}")


def tell_checks(output: Output, checks: Sequence[Check]) -> None:
    """One line per check: sign, level, id, message; the remedy below where there is one."""
    for check in checks:
        sign = output.glyph(check.level.value)
        output.line(sign, f" {check.level.value:<8} {check.id}: {check.message}")
        if check.remedy and check.level is not CheckLevel.PASS:
            output.line("    ", Styled(output.hint(check.remedy), "muted"))
