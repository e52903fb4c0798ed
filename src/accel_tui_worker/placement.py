"""Proof of placement: which card this rank really holds, compared with the one that was planned for it.

No variable is trusted across releases of a vendor's software: at its first use of the device a rank looks at what it
has open (or what its runtime says it uses), tells it as a `placement` event, and a difference ends the run before it
trains. What cannot be read is `not-verified`, never `verified`.

A device type is added with a module that has

    use(device) -> None                            puts something small on the device, so that the card is taken
    held(places, device) -> Sequence[Held]         what this process has; raises UnknownPlacementError with the reason

and one line in `LOOKS`.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui_worker.errors import WrongCardError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui_worker.run import Context

LOOKS = {"hpu": "accel_tui_worker.placement_gaudi"}
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

    def words(self) -> str:
        module = "" if self.module_id is None else f" (module {self.module_id})"
        return f"{self.key or self.node or 'an unknown card'}{module}"


@dataclass(frozen=True)
class Wanted:
    """The card that the plan has for this rank."""

    key: str
    module_id: int | None = None
    """Of a Gaudi card, where the plan's list of modules says it."""

    def is_met_by(self, card: Held) -> bool | None:
        """Whether `card` is this one; None where neither address nor module of both is known."""
        if card.key is not None and self.key.startswith("pci:"):
            return card.key == self.key
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
    wanted = wanted_card(os.environ, local_rank())
    try:
        found = judge(wanted, look.held(Places.of(os.environ), device))
    except UnknownPlacementError as error:
        found = Placement(NOT_VERIFIED, wanted.key if wanted else None, reason=str(error))
    context.events.emit("placement", device=str(device), **asdict(found))
    if found.status == DIFFERENT:
        raise WrongCardError(found.reason)
    if found.status == NOT_VERIFIED:
        context.events.warn("card-not-verified", f"which card this rank holds is not verified: {found.reason}")


def local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK") or "0")


def wanted_card(environment: Mapping[str, str], rank: int) -> Wanted | None:
    """The card of this rank by `ACCEL_TUI_CARDS`, the keys of the selection in the order of ranks.

    None without that variable, as when the worker is started by hand.
    """
    keys = [key for key in environment.get("ACCEL_TUI_CARDS", "").split(",") if key]
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
