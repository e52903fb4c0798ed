"""What is said of a device, and which groups are proposed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accel_tui.model.devices import DeviceState, DeviceView, Holder, Reading, ReadingStatus, ReservedBy, ok
from accel_tui.model.runs import Run, RunState
from accel_tui.tui.board import Board, Draft
from accel_tui.tui.glyphs import Glyphs
from accel_tui.tui.idle import IDLE_SECONDS, IdleWatch
from accel_tui.tui.panes.devices import details, groups, rows
from accel_tui.tui.standing import Standing, standing
from accel_tui.tui.widgets.columns import lay_out
from support.scene import NOW, cpu_view, gaudi_views, inventory, key, run, runs, server, xpu_server

GLYPHS = Glyphs()


def board(
    *views: DeviceView, of: tuple[Run, ...] = (), picks: tuple[str, ...] = (), draft: Draft | None = None
) -> Board:
    return Board(NOW, inventory=inventory(*views), runs={one.id: one for one in of}, picks=picks, draft=draft)


def stands(shown: Board, user: str = "me") -> dict[str, Standing]:
    return {view.device.key: standing(view, shown, user) for view in shown.devices}


def free(number: int = 7) -> DeviceView:
    return gaudi_views()[7] if number == 7 else replace(doubtful(number), readings=gaudi_views()[7].readings)


def doubtful(number: int) -> DeviceView:
    """A card with much memory in use, and nobody who is seen to hold it."""
    return replace(gaudi_views()[number], holders=())


def of(view: DeviceView, *, user: str = "me", **parts: object) -> Standing:
    return standing(view, board(view, **parts), user)  # type: ignore[arg-type] # parts of the board by name


def test_the_server_of_the_pictures() -> None:
    shown = board(*server().devices, of=runs())
    found = [(one.sign, one.words, one.free) for one in stands(shown).values()]
    assert found == [
        *[("running", "qwen3-lora", False)] * 4,
        ("running", "chat-serve", False),
        ("other-user", "kx3", False),
        ("stale", "stale 14 s", False),
        ("free", "free", True),
        ("free", "shareable", True),
    ]
    assert [one.detail for one in stands(shown).values()][:4] == ["rank 0", "rank 1", "rank 2", "rank 3"]


@pytest.mark.parametrize("state", [state for state in DeviceState if state is not DeviceState.OPERATIONAL])
def test_whatever_is_out_of_order_says_so_and_cannot_be_picked(state: DeviceState) -> None:
    view = free()
    stand = of(replace(view, device=replace(view.device, state=state, details={"status_text": "because"})))
    assert stand.reason is not None
    assert stand.detail == "because"
    assert stand.words


def test_holders_and_reservations() -> None:
    view = free()
    hidden = of(replace(view, holders=(Holder(7, None, None),)))
    assert (hidden.words, hidden.role) == ("held, owner hidden", "foreign")
    own = of(replace(view, holders=(Holder(7, "me", "python"),)))
    assert (own.words, own.free) == ("yours", False)
    claimed = of(replace(view, reserved_by=ReservedBy(None, "ana", "rubbish")))
    assert (claimed.words, claimed.since) == ("ana", None)
    waiting = run("20261130-000000-aaaa", "next-one", RunState.QUEUED, devices=(view.device.key,))
    reserved = replace(view, reserved_by=ReservedBy(waiting.id, "me", None))
    assert of(reserved, of=(waiting,)).words == "reserved"
    assert of(view, of=(waiting,)).words == "free"  # it may get other cards when its turn comes


def test_a_pick_says_what_for() -> None:
    view = free()
    draft = Draft({"name": "qwen3-lora-r32"})
    assert of(view, picks=(view.device.key,), draft=draft).words == "picked for qwen3-lora-r32"


def test_idle_held_needs_a_while() -> None:
    view = replace(gaudi_views()[4], holders=(Holder(9, "mw", "python"),))
    quiet = replace(
        view, readings={**view.readings, "utilization_percent": gaudi_views()[7].readings["utilization_percent"]}
    )
    watch = IdleWatch()
    shown = board(quiet)
    watch.look(shown)
    assert watch.since(quiet.device.key, NOW) is None
    later = replace(shown, now=NOW + IDLE_SECONDS)
    watch.look(later)
    since = watch.since(quiet.device.key, later.now)
    assert since == NOW
    assert standing(quiet, later, "me", since).words == "idle-held"
    watch.look(replace(board(view), now=later.now + 1))
    assert watch.since(view.device.key, later.now + 1) is None


def keys(found: groups.Group | None) -> str:
    return "none" if found is None else found.label


def test_groups_of_a_server_are_pairs_quads_all_and_singles() -> None:
    labels = [group.label for group in groups.groups(server().devices)]
    assert labels[:7] == ["0,1", "2,3", "4,5", "6,7", "0-3", "4-7", "0-7"]
    assert labels[7:] == [str(number) for number in range(8)]


def test_g_cycles_what_is_free_and_begins_with_what_the_job_wants() -> None:
    views = [*(free(number) for number in range(6)), *gaudi_views()[6:], cpu_view()]
    shown = board(*views)
    seen = []
    for _ in range(4):
        group = groups.next_group(shown, stands(shown))
        assert group is not None
        seen.append(group.label)
        shown = replace(shown, picks=group.keys)
    assert seen == ["0,1", "2,3", "4,5", "0-3"]
    wanting = board(*views, draft=Draft({"name": "x"}, select="auto:gaudi:4"))
    assert keys(groups.next_group(wanting, stands(wanting))) == "0-3"


def test_nothing_free_proposes_nothing() -> None:
    shown = board(*gaudi_views()[5:6])
    assert groups.next_group(shown, stands(shown)) is None


def said(shown: Board) -> str:
    return "".join(piece.text for line in groups.advice(shown, stands(shown), GLYPHS) for piece in line)


def test_advice_names_groups_and_what_blocks_them() -> None:
    shown = board(*server().devices, of=runs())
    assert said(shown) == "groups of 4  0-3 in use by qwen3-lora   4-7 blocked: 4 chat-serve, 5 kx3, 6 stale"
    picked = replace(board(*(free(number) for number in range(4))), picks=(key("19"), key("3b")))
    assert said(picked) == "picked   gaudi:0,1   a supported group of 2 ✓   NUMA 0 ✓"
    three = replace(picked, picks=(key("19"), key("3b"), key("4c")))
    assert "no supported group of 3: 1, 2, 4 or all go together; g proposes one" in said(three)
    gone = replace(shown, picks=(key("19"),))
    assert "no longer free: 0 qwen3-lora" in said(gone)


def test_a_card_that_may_be_in_use_can_be_picked_and_is_not_proposed() -> None:
    views = [*(free(number) for number in range(4)), doubtful(4), free(5)]
    shown = board(*views)
    stand = stands(shown)[key("9a")]
    assert (stand.words, stand.detail) == ("in use?", "holder hidden or stale value")
    assert (stand.free, stand.offered) == (True, False)
    assert groups.summary(shown, stands(shown)) == "6 cards, 5 free"
    wanting = board(*views, draft=Draft({"name": "x"}, select="auto:gaudi:2"))
    assert said(wanting) == "groups of 2  0,1 free ✓   2,3 free ✓   4,5 blocked: 4 in use?"
    for _ in range(12):
        group = groups.next_group(wanting, stands(wanting))
        assert group is not None
        assert key("9a") not in group.keys
        wanting = replace(wanting, picks=group.keys)
    picked = replace(shown, picks=(key("9a"), key("b3")))
    assert "a supported group of 2" in said(picked)
    assert said(picked).endswith("▲ 4 in use?")


def test_a_tool_that_hangs_leaves_the_card_to_be_picked() -> None:
    old = {
        name: Reading(ReadingStatus.STALE, reason="gaudi.hl-smi has not answered", age_seconds=age)
        for name, age in (("utilization_percent", 14.0), ("memory_used_bytes", 14.0), ("ecc_corrected", 70.0))
    }
    silent = replace(free(), readings=old)
    assert (of(silent).words, of(silent).free) == ("stale 14 s", False)
    seen = replace(silent, readings={**old, "pcie_gen": ok(5, "sysfs")})
    assert (of(seen).words, of(seen).free, of(seen).offered) == ("stale 14 s", True, True), "as for auto"
    held = replace(seen, holders=(Holder(7, "kx3", "python"),))
    assert (of(held).words, of(held).free) == ("kx3", False)


def test_xpus_group_by_numa_node() -> None:
    views = xpu_server().devices
    moved = [replace(view, device=replace(view.device, numa_node=number // 2)) for number, view in enumerate(views)]
    assert [group.label for group in groups.groups(moved)][:3] == ["0,1", "2,3", "0-3"]


def test_xpus_group_within_the_family_that_torch_lists() -> None:
    families = ("dg2", "bmg", "dg2", "bmg")
    views = [
        replace(
            view, device=replace(view.device, state=DeviceState.OPERATIONAL, details={"family": family}), holders=()
        )
        for view, family in zip(xpu_server().devices, families, strict=False)
    ]
    shown = board(*views)
    assert [group.label for group in groups.groups(views) if len(group) > 1] == ["0,2", "1,3"]
    pick = groups.next_group(shown, stands(shown))
    assert pick is not None
    assert pick.label == "0,2"
    mixed = replace(shown, picks=(key("03"), key("1b")))
    assert "no supported group of 2: torch lists one product family of Arc A or Flex and Arc B" in said(mixed)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_number_in_a_mask_is_shown_where_it_is_not_the_position(width: int) -> None:
    first, second, *_ = xpu_server().devices
    shifted = replace(second, device=replace(second.device, details={"affinity_mask": "0"}))
    shown = board(first, shifted, cpu_view())
    columns = rows.columns(shown.devices, width, "usual", history=False, glyphs=GLYPHS)
    kept = tuple(place.column for place in lay_out(columns, width, 4))
    at = [column.title for column in kept].index("MASK")
    found = [
        "".join(piece.text for piece in rows.row(view, stand, shown, kept, rows.Look(GLYPHS)).cells[at])
        for view, stand in zip(shown.devices, stands(shown).values(), strict=True)
    ]
    assert found == ["", "0", ""]
    assert "mask 0" in "".join(piece.text for piece in details.brief(shifted))
    usual = rows.columns((first, second), width, "usual", history=False, glyphs=GLYPHS)
    assert "MASK" not in [column.title for column in usual]


def test_a_card_is_not_free_while_a_run_has_a_tile_of_it() -> None:
    card = xpu_server().devices[0]
    tiles = [replace(card, device=replace(card.device, key=f"{card.device.key}#{tile}")) for tile in (0, 1)]
    mine = run("20261130-000000-aaaa", "half", RunState.RUNNING, devices=(tiles[0].device.key,))
    shown = stands(board(card, *tiles, of=(mine,)))
    assert [(one.words, one.free) for one in shown.values()] == [("half", False), ("half", False), ("free", True)]
