"""Which cards make a supported group, which groups are free, and what is said of a pick. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accel_tui.model.devices import Device, DeviceView
from accel_tui.tui.board import Board
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.naming import count, is_card, number, selector
from accel_tui.tui.standing import Standing
from accel_tui.tui.widgets.pieces import Cell, Piece
from accel_tui.vendors.gaudi import groups as gaudi
from accel_tui.vendors.xpu import launch as xpu


@dataclass(frozen=True)
class Group:
    """Cards that one distributed job may run on."""

    keys: tuple[str, ...]
    label: str
    """Their numbers: `0-3`, `4,5`."""

    def __len__(self) -> int:
        return len(self.keys)


def groups(views: Sequence[DeviceView]) -> list[Group]:
    """Every supported group of the host: pairs, then larger ones, then single cards."""
    found: list[Group] = []
    for vendor in sorted({view.device.vendor for view in views if is_card(view.device)}):
        cards = [view.device for view in views if is_card(view.device) and view.device.vendor == vendor]
        made: Sequence[Sequence[Device]] = gaudi.groups(cards) if vendor == "gaudi" else _others(cards)
        found += [_group(one) for one in made if len(one) > 1]
        found += [_group([card]) for card in cards]
    return sorted(found, key=lambda group: (len(group) == 1, len(group)))


def _group(cards: Sequence[Device]) -> Group:
    return Group(tuple(card.key for card in cards), selector(cards).partition(":")[2])


def _others(cards: Sequence[Device]) -> list[list[Device]]:
    """Of each product family, of which torch lists one, the discrete cards of each NUMA node, then all of them."""
    discrete = [card for card in cards if card.pci_order is not None and not card.details.get("integrated")]
    families: dict[str | None, list[Device]] = {}
    for card in discrete:
        families.setdefault(xpu.family(card), []).append(card)
    made: list[list[Device]] = []
    for alike in families.values():
        nodes = sorted({card.numa_node for card in alike if card.numa_node is not None})
        parts = [[card for card in alike if card.numa_node == node] for node in nodes]
        made += [*(one for one in parts if 1 < len(one) < len(alike)), alike]
    return made


def next_group(board: Board, stands: Mapping[str, Standing]) -> Group | None:
    """The free group after the one that is picked; first those of the size that the job asks for."""
    free = [group for group in groups(board.devices) if all(stands[key].offered for key in group.keys)]
    wanted = _wanted_size(board)
    free.sort(key=lambda group: (len(group) != wanted, _ports_down(group, board)))
    if not free:
        return None
    here = next((place for place, group in enumerate(free) if set(group.keys) == set(board.picks)), -1)
    return free[(here + 1) % len(free)]


def _wanted_size(board: Board) -> int:
    select = "" if board.draft is None else board.draft.select or str(board.draft.job.get("devices") or "")
    found = re.fullmatch(r"auto:\w+:(\d+)", select)
    return int(found[1]) if found else 0


def advice(board: Board, stands: Mapping[str, Standing], glyphs: Glyphs) -> list[Cell]:
    """The lines under the table: what is said of the pick, or which groups there are and what blocks each."""
    picked = board.picked()
    if picked:
        return [_judged(picked, board, stands, glyphs)]
    cards = [view for view in board.devices if is_card(view.device)]
    if len(cards) < 2:
        return []
    size = _wanted_size(board)
    known = [group for group in groups(board.devices) if len(group) > 1]
    sizes = sorted({len(group) for group in known})
    if size not in sizes:
        size = 4 if 4 in sizes and len(cards) > 4 else sizes[-1] if sizes else 0
    shown = [group for group in known if len(group) == size]
    line: list[Piece] = [Piece(f"groups of {size}", "muted")]
    for group in shown:
        line += [Piece("  " if len(line) == 1 else "   "), *_group_words(group, board, stands, glyphs)]
    return [tuple(line)] if shown else []


def _group_words(group: Group, board: Board, stands: Mapping[str, Standing], glyphs: Glyphs) -> list[Piece]:
    blockers = [(key, stands[key]) for key in group.keys if not stands[key].offered]
    label = Piece(group.label, "text")
    if not blockers and _ports_down(group, board):
        return [label, Piece(" free, but internal ports are down ", "warn"), Piece(glyphs.text("warning"), "warn")]
    if not blockers:
        return [label, Piece(" free ", "muted"), Piece(glyphs.text("passed"), "ok")]
    runs = {stand.run for _, stand in blockers}
    if len(runs) == 1 and None not in runs:
        name = next(run.name for run in board.runs.values() if run.id in runs)
        return [label, Piece(f" in use by {name}", "muted")]
    words = [f"{_number(key, board)} {_brief(stand, board)}" for key, stand in blockers]
    return [label, Piece(f" blocked: {', '.join(words)}", "muted")]


def _brief(stand: Standing, board: Board) -> str:
    """One or two words for what blocks a group."""
    if stand.run is not None and stand.run in board.runs:
        return board.runs[stand.run].name
    return re.sub(r" \d.*|^held, ", "", stand.words)


def _number(key: str, board: Board) -> str:
    view = board.device(key)
    return key if view is None else number(view.device)


def _judged(picked: Sequence[DeviceView], board: Board, stands: Mapping[str, Standing], glyphs: Glyphs) -> Cell:
    """What is said of the pick at once: group, NUMA, what is in the way."""
    devices = [view.device for view in picked]
    line = [Piece("picked   ", "muted"), Piece(selector(devices), "strong", bold=True)]
    good, bad = Piece(f" {glyphs.text('passed')}", "ok"), glyphs.text("warning")
    if len({device.vendor for device in devices}) > 1:
        return (*line, Piece(f"   {bad} ", "warn"), Piece("devices of different kinds cannot serve one job", "warn"))
    keys = {device.key for device in devices}
    if len(keys) > 1:
        fault = _fault(devices, board)
        if fault is None:
            line += [Piece(f"   a supported group of {len(keys)}", "muted"), good]
        else:
            words = f"no supported group of {len(keys)}: {fault}; g proposes one"
            line += [Piece(f"   {bad} ", "warn"), Piece(words, "warn")]
        nodes = sorted({str(device.numa_node) for device in devices if device.numa_node is not None})
        if len(nodes) == 1:
            line += [Piece(f"   NUMA {nodes[0]}", "muted"), good]
        elif nodes:
            line += [Piece(f"   NUMA {', '.join(nodes)}", "muted")]
    taken = [device for device in devices if not stands[device.key].free]
    if taken:
        names = ", ".join(f"{number(device)} {_brief(stands[device.key], board)}" for device in taken)
        line += [Piece(f"   {bad} ", "warn"), Piece(f"no longer free: {names}", "warn")]
    doubted = [device for device in devices if stands[device.key].free and stands[device.key].doubt]
    if doubted:
        names = ", ".join(f"{number(device)} {_brief(stands[device.key], board)}" for device in doubted)
        line += [Piece(f"   {bad} ", "warn"), Piece(names, "warn")]
    return tuple(line)


def _fault(devices: Sequence[Device], board: Board) -> str | None:
    """Why these cards may not run one distributed job, in a few words."""
    if devices[0].vendor == "xpu":
        return xpu.apart(devices)
    if devices[0].vendor != "gaudi":
        return None
    fault = gaudi.fault(devices, [view.device for view in board.devices if view.device.vendor == "gaudi"])
    return None if fault is None else fault.brief


def _ports_down(group: Group, board: Board) -> bool:
    """Whether an internal port of a card of this group is known to be down; one card exchanges nothing."""
    views = [view for view in board.devices if view.device.key in group.keys] if len(group) > 1 else []
    return any(view.device.vendor == "gaudi" and gaudi.ports_down(view) is not None for view in views)


def summary(board: Board, stands: Mapping[str, Standing]) -> str:
    """The pane's subject: `8 cards, 1 free`."""
    cards = [view for view in board.devices if is_card(view.device)]
    if not cards:
        return f"{len(board.devices)} usable"
    free = sum(stands[view.device.key].offered for view in cards)
    return f"{count(len(cards), 'card')}, {free or 'none'} free"
