"""The shipped theme files: readable for every eye, and faults in a person's own file named."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.config.shipped import shipped_folder
from accel_tui.model.errors import FileError
from accel_tui.tui.palette import HEAT, QUANTITIES, ROLES, SERIES, STATES, SURFACES, Palette, palette_of, theme_of
from accel_tui.tui.theme import fitting, load_themes, read_palette, without_colour
from support.colours import Sight, contrast, smallest_difference

SHIPPED = shipped_folder("themes")
THEMES = load_themes(SHIPPED)
NAMES = ("basalt", "chalk", "mono", "okabe", "okabe-light", "signal", "sixteen", "tritan")
MEASURED = tuple(name for name in NAMES if name != "sixteen")  # its colours are the terminal's, nobody can measure them

TEXT_ROLES = ("text", "strong", "muted", "faint", "accent", *STATES, *QUANTITIES)
LIMIT = 4.5
MINIMAL = """
dark = true
bg = "#000000"
text = "#ffffff"
accent = "#00aaff"
ok = "#00ff00"
warn = "#ffff00"
error = "#ff8080"
foreign = "#ff00ff"
"""


def test_all_named_themes_are_shipped_and_whole() -> None:
    assert sorted(THEMES.palettes) == sorted(NAMES)
    assert THEMES.problems == ()
    for palette in THEMES.palettes.values():
        assert set(palette.colours) == set(ROLES)


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("surface", SURFACES)
def test_every_text_role_reads_on_every_surface(name: str, surface: str) -> None:
    palette = THEMES.palettes[name]
    low = {role: round(ratio, 2) for role in TEXT_ROLES if (ratio := _drawn_contrast(palette, role, surface)) < LIMIT}
    assert low == {}


@pytest.mark.parametrize("name", MEASURED)
def test_lines_of_charts_read_on_the_background(name: str) -> None:
    """Charts stand on `bg` alone, so the series are not held to the other two surfaces."""
    palette = THEMES.palettes[name]
    ratios = {role: contrast(palette.colours[role], palette.colours["bg"]) for role in SERIES}
    assert min(ratios.values()) >= LIMIT, ratios


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize(("role", "on"), [("on_accent", "accent"), ("text", "hit"), ("on_accent", "hit_now")])
def test_chips_and_hits_read(name: str, role: str, on: str) -> None:
    assert _drawn_contrast(THEMES.palettes[name], role, on) >= LIMIT


@pytest.mark.parametrize("name", MEASURED)
def test_a_disabled_button_is_still_visible(name: str) -> None:
    """`faint` on `track` is below 4.5 by design: disabled, and the reason stands beside it in `muted`."""
    palette = THEMES.palettes[name]
    assert contrast(palette.colours["faint"], palette.colours["track"]) >= 2.0


def test_the_figures_of_the_default_theme() -> None:
    """The lowest contrast of each role over the three surfaces, as the design language states them."""
    colours = THEMES.palettes["basalt"].colours
    stated = {"text": 9.8, "strong": 12.2, "muted": 5.7, "accent": 6.2, "ok": 7.4, "warn": 8.1, "error": 4.9}
    stated |= {"foreign": 5.7}
    for role, figure in stated.items():
        assert min(contrast(colours[role], colours[on]) for on in SURFACES) == pytest.approx(figure, abs=0.06), role
    assert min(contrast(colours["faint"], colours[on]) for on in ("bg", "raised")) == pytest.approx(5.0, abs=0.06)
    assert contrast(colours["on_accent"], colours["accent"]) == pytest.approx(8.5, abs=0.06)
    assert contrast(colours["text"], colours["hit"]) == pytest.approx(7.7, abs=0.06)
    assert contrast(colours["on_accent"], colours["hit_now"]) == pytest.approx(11.2, abs=0.06)
    assert contrast(colours["faint"], colours["track"]) == pytest.approx(3.5, abs=0.06)


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("basalt", (57, 22, 23, 38)),
        ("signal", (64, 29, 30, 34)),
        ("okabe", (48, 33, 36, 30)),
        ("chalk", (42, 17, 5, 36)),
    ],
)
def test_state_colours_stay_apart_as_stated(name: str, figures: tuple[int, int, int, int]) -> None:
    sights: tuple[Sight, ...] = ("normal", "protan", "deutan", "tritan")
    colours = [THEMES.palettes[name].colours[state] for state in STATES]
    for sight, figure in zip(sights, figures, strict=True):
        assert smallest_difference(colours, sight) == pytest.approx(figure, abs=0.7), sight


@pytest.mark.parametrize("sight", ["normal", "protan", "deutan", "tritan"])
def test_okabe_light_keeps_every_state_apart(sight: Sight) -> None:
    colours = [THEMES.palettes["okabe-light"].colours[state] for state in STATES]
    assert smallest_difference(colours, sight) >= 29


@pytest.mark.parametrize("name", [name for name in MEASURED if name != "mono"])
def test_heat_rises_and_starts_visible(name: str) -> None:
    """Away from the background step by step; the lowest step can still be told from nothing."""
    palette = THEMES.palettes[name]
    ratios = [contrast(palette.colours[step], palette.colours["bg"]) for step in HEAT]
    assert ratios == sorted(ratios)
    assert ratios[0] > 1.05


def test_faint_becomes_muted_on_the_cursor_row() -> None:
    palette = THEMES.palettes["basalt"]
    assert palette.style("faint", "select") == palette.style("muted", "select")


def test_a_reversed_cursor_row_is_flat() -> None:
    palette = THEMES.palettes["mono"]
    assert palette.style("muted", "select") == palette.style("ok", "select")
    assert palette.style("warn", "select").bold


def test_without_colour_there_is_no_colour() -> None:
    palette = without_colour()
    for role in ROLES:
        for on in (*SURFACES, "accent", "hit", "hit_now"):
            style = palette.style(role, on)
            assert style.color is None or style.color.is_default
            assert style.bgcolor is None or style.bgcolor.is_default


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"TERM": "xterm-256color"}, "basalt"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "basalt"),
        ({"TERM": "linux"}, "sixteen"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "no-colour"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "basalt"),
    ],
)
def test_the_environment_decides_what_can_be_shown(environment: dict[str, str], name: str) -> None:
    assert fitting(THEMES.palettes, "basalt", environment).name == name


def test_a_theme_of_textual_reads_as_text_with_colours() -> None:
    from textual.theme import BUILTIN_THEMES

    for theme in BUILTIN_THEMES.values():
        palette = palette_of(theme)
        assert set(palette.colours) == set(ROLES)
        assert all(palette.style(role, on) for role in ROLES for on in SURFACES)


def test_textual_gets_every_role_as_a_variable() -> None:
    palette = THEMES.palettes["basalt"]
    theme = theme_of(palette)
    assert palette_of(theme) is palette
    assert {role: theme.variables[role] for role in ROLES} == dict(palette.colours)


def test_seven_roles_make_a_theme(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text(MINIMAL)
    palette = read_palette(path, SHIPPED)
    assert palette.colours["raised"] == "#0c0c0c"  # 5 % of white
    assert palette.colours["muted"] == "#b5b5b5"  # 71 %
    assert palette.colours["strong"] == "#ffffff"
    assert palette.colours["on_accent"] == "#000000"
    assert palette.colours["mem"] == THEMES.palettes["basalt"].colours["mem"]


def test_a_persons_own_file_replaces_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "chalk.toml").write_text('extends = "chalk"\nok = "#000000"\n')
    (tmp_path / "broken.toml").write_text("dark = maybe\n")
    themes = load_themes(SHIPPED, tmp_path)
    assert themes.palettes["chalk"].colours["ok"] == "#000000"
    assert themes.palettes["chalk"].colours["warn"] == THEMES.palettes["chalk"].colours["warn"]
    assert [str(problem.message).split(":")[0] for problem in themes.problems] == [str(tmp_path / "broken.toml")]


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        (MINIMAL.replace('ok = "#00ff00"', ""), "ok", "a theme needs"),
        (MINIMAL + 'mutde = "#ffffff"', "mutde", "did you mean muted?"),
        (MINIMAL + 'muted = "grey"', "muted", "six hexadecimal digits"),
        (MINIMAL + "muted = 7", "muted", "six hexadecimal digits"),
        (MINIMAL + 'series = ["#ffffff"]', "series", "give 4 values"),
        (MINIMAL + 'heat = ["a","b","c","d","e","f","g"]', "heat[0]", "six hexadecimal digits"),
        (MINIMAL + 'cursor = "blink"', "cursor", "one of fill, reverse"),
        (MINIMAL + 'bold = ["everything"]', "bold", "for example"),
        (MINIMAL + "ansi = true", "bg", "ansi_bright_blue"),
        (MINIMAL.replace("dark = true", 'dark = "yes"'), "dark", "write dark = true"),
        ('extends = "night"', "extends", "one of basalt"),
        ('extends = "tritan"', "extends", 'extend "basalt" instead'),
        ('extends = "sixteen"\nok = "#00ff00"', "ok", ""),
        ('extends = "basalt"\nansi = true', "dark", ""),
    ],
)
def test_a_fault_names_file_key_and_remedy(tmp_path: Path, text: str, key: str, remedy: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read_palette(path, SHIPPED)
    if key != "dark" or remedy:
        assert f"{path}: {key} " in caught.value.message
    assert remedy in (caught.value.remedy or "")


def _drawn_contrast(palette: Palette, role: str, on: str) -> float:
    """The contrast of what is really drawn, which may differ from the bare roles on the cursor row."""
    style = palette.style(role, on)
    assert style.color is not None
    assert style.color.triplet is not None
    assert style.bgcolor is not None
    assert style.bgcolor.triplet is not None
    return contrast(style.color.triplet.hex, style.bgcolor.triplet.hex)
