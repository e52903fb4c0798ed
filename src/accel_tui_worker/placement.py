"""Proof of placement: which card this rank really holds, compared with the one that was planned for it.

No variable is trusted across releases of a vendor's software: at its first use of the device a rank looks at what it
has open (or what its runtime says it uses), tells it as a `placement` event, and a difference ends the run before it
trains. What cannot be read is `not-verified`, never `verified`.

A device type is added with a module that has

    use(device) -> None                            puts something small on the device, so that the card is taken
    held(places, device) -> Sequence[Held]         what this process has; raises UnknownPlacementError with the reason

and, where one process sees more than its own,

    visible(places) -> Sequence[Held]              every device that it sees, in the order of its runtime

and one line in `LOOKS`.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker.errors import WrongCardError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui_worker.run import Context

LOOKS = {"hpu": "accel_tui_worker.placement_gaudi", "xpu": "accel_tui_worker.placement_xpu"}
"""The module that looks, by torch device type; a type without one is not examined."""

VERIFIED, DIFFERENT, NOT_VERIFIED = "verified", "different", "not-verified"


class UnknownPlacementError(Exception):
    """What this process holds cannot be told; the message says why."""


@dataclass(frozen=True)
class Held:
    """One card, or tile, that this process has."""

    key: str | None
    """As in the inventory, `pci:0000:17:00.0` or with `#T` for a tile; None where the address cannot be read."""
    node: str | None = None
    """The device file that is open, such as `/dev/accel/accel2`."""
    module_id: int | None = None
    """Of a Gaudi card."""
    uuid: str | None = None
    """As its runtime gives it."""
    by: str | None = None
    """What told the key, where there are several ways: `uuid`, `chip-uuid`, `fdinfo`."""

    def words(self) -> str:
        module = "" if self.module_id is None else f" (module {self.module_id})"
        return f"{self.key or self.node or self.uuid or 'an unknown card'}{module}"


@dataclass(frozen=True)
class Wanted:
    """The card that the plan has for this rank."""

    key: str
    module_id: int | None = None
    """Of a Gaudi card, where the plan's list of modules says it."""

    def is_met_by(self, card: Held) -> bool | None:
        """Whether `card` is this one; None where neither address nor module of both is known."""
        if card.key is not None and self.key.startswith("pci:"):
            wanted, _, tile = self.key.partition("#")
            # A driver that shows a lone tile as its card does not say which of them it is.
            return None if tile and card.key == wanted else card.key == self.key
        if card.module_id is not None and self.module_id is not None:
            return card.module_id == self.module_id
        return None


@dataclass(frozen=True)
class Placement:
    """What was found."""

    status: str
    """`verified`, `different` or `not-verified`."""
    wanted: str | None
    held: tuple[Held, ...] = ()
    reason: str | None = None
    """None when verified."""
    visible: tuple[Held, ...] | None = None
    """Every device that this process sees; None for a type whose processes see their own alone."""


@dataclass(frozen=True)
class Places:
    """Where device files and their descriptions lie; settings of accel-tui name others than the usual ones."""

    sysfs_root: Path
    dev_root: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Places:
        return cls(
            Path(environment.get("ACCEL_TUI_SYSFS_ROOT") or "/sys"),
            Path(environment.get("ACCEL_TUI_DEV_ROOT") or "/dev"),
        )


def prove(context: Context, device: Any) -> None:
    """Use `device` (a torch.device) for the first time and tell which card that took.

    Raises:
        WrongCardError: another card than the planned one, or one too many.
    """
    if device.type not in LOOKS:
        return
    look = importlib.import_module(LOOKS[device.type])
    look.use(device)
    wanted, places = wanted_card(os.environ, local_rank()), Places.of(os.environ)
    try:
        found = judge(wanted, look.held(places, device))
    except UnknownPlacementError as error:
        found = Placement(NOT_VERIFIED, wanted.key if wanted else None, reason=str(error))
    if hasattr(look, "visible"):
        found = _judge_all(found, look, places)
        _print(device.type, found.visible or (), context.rank)
    context.events.emit("placement", device=str(device), **asdict(found))
    if found.status == DIFFERENT:
        raise WrongCardError(found.reason)
    if found.status == NOT_VERIFIED:
        context.events.warn("card-not-verified", f"which card this rank holds is not verified: {found.reason}")


def _judge_all(found: Placement, look: Any, places: Places) -> Placement:
    """The finding with all that this process sees, where that can be told."""
    try:
        seen = look.visible(places)
    except UnknownPlacementError as error:
        return found if found.status == DIFFERENT else replace(found, status=NOT_VERIFIED, reason=str(error))
    return judge_visible(found, planned_keys(os.environ), seen)


def local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK") or "0")


def _print(kind: str, seen: Sequence[Held], rank: int) -> None:
    """Say in the log what the devices of this run are, once."""
    for index, card in enumerate(seen if rank == 0 else ()):
        uuid = f", uuid {card.uuid}" if card.uuid else ""
        print(f"{kind}:{index} is {card.words()}{uuid}", flush=True)


def planned_keys(environment: Mapping[str, str]) -> list[str]:
    """The keys of the selection, in the order of ranks."""
    return [key for key in environment.get("ACCEL_TUI_CARDS", "").split(",") if key]


def wanted_card(environment: Mapping[str, str], rank: int) -> Wanted | None:
    """The card of this rank by `ACCEL_TUI_CARDS`, the keys of the selection in the order of ranks.

    None without that variable, as when the worker is started by hand.
    """
    keys = planned_keys(environment)
    if rank >= len(keys):
        return None
    modules = environment.get("HABANA_VISIBLE_MODULES", "").split(",")
    module = modules[rank].strip() if rank < len(modules) else ""
    return Wanted(keys[rank], int(module) if module.isdecimal() else None)


def judge(wanted: Wanted | None, held: Sequence[Held]) -> Placement:
    """Compare; a rank that holds the planned card and one more is on the wrong cards too."""
    cards = tuple(held)
    words = ", ".join(card.words() for card in cards)
    if wanted is None:
        return Placement(NOT_VERIFIED, None, cards, "the plan names no card for this rank")
    if not cards:
        return Placement(NOT_VERIFIED, wanted.key, cards, "no card is open in this process")
    answers = [wanted.is_met_by(card) for card in cards]
    if False in answers:
        return Placement(DIFFERENT, wanted.key, cards, f"planned for {wanted.key}, and this rank holds {words}")
    if None in answers:
        return Placement(NOT_VERIFIED, wanted.key, cards, f"the address of what is open cannot be read: {words}")
    return Placement(VERIFIED, wanted.key, cards)


def judge_visible(found: Placement, keys: Sequence[str], seen: Sequence[Held]) -> Placement:
    """The finding, and whether all that this process sees is the selection, no more and no less, in its order."""
    found = replace(found, visible=tuple(seen))
    if found.status == DIFFERENT or not keys:
        return found
    if len(seen) != len(keys):
        reason = f"{len(keys)} devices were planned ({', '.join(keys)}), and this process sees {len(seen)}"
        return replace(found, status=DIFFERENT, reason=reason)
    answers = [Wanted(key).is_met_by(card) for key, card in zip(keys, seen)]  # noqa: B905 - of one length
    wrong = [f"{card.words()} in place of {key}" for key, card, met in zip(keys, seen, answers) if met is False]  # noqa: B905
    if wrong:
        return replace(found, status=DIFFERENT, reason=f"this process sees {', '.join(wrong)}")
    if len(keys) > 1 and None in answers and found.status == VERIFIED:
        reason = f"which card device {answers.index(None)} of this process is cannot be told"
        return replace(found, status=NOT_VERIFIED, reason=reason)
    return found
