"""Roles and their colours: the one lookup that drawing widgets use.

A role says what a text *is* (`muted`, `warn`, `util`); a palette says how it looks. Line-API widgets ask
`palette_of(app.current_theme)` when they draw, so a change of theme reaches them with the next repaint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

SERIES = tuple(f"series-{number}" for number in range(1, 5))
"""Roles of compared lines on one chart, in order of use."""
HEAT = tuple(f"heat-{step}" for step in range(7))
"""Roles of the steps of a heat strip, from little to much."""
SURFACES = ("bg", "raised", "select")
"""Roles that text stands on."""
STATES = ("ok", "warn", "error", "foreign")
QUANTITIES = ("util", "mem", "temp", "power")
SINGLE = (
    *SURFACES,
    *("line", "track", "text", "strong", "muted", "faint", "accent", "on_accent"),
    *(*STATES, *QUANTITIES, "hit", "hit_now"),
)
"""Roles that a theme file names one by one."""
ROLES = (*SINGLE, *SERIES, *HEAT)
"""Every role."""

FILL = 0.42
"""How much of its colour the fill of an area chart keeps, the rest being `bg`."""


@dataclass(frozen=True)
class Palette:
    """What every role looks like in one theme."""

    name: str
    dark: bool
    colours: Mapping[str, str]
    """A value for each of `ROLES`: `#rrggbb`, or a name beginning with `ansi_` in a palette of sixteen colours."""
    ansi: bool = False
    """The terminal's own colours, on its own background."""
    bold: frozenset[str] = frozenset()
    """Roles that are bold by themselves."""
    dim: frozenset[str] = frozenset()
    """Roles that are dimmed by the terminal itself; for palettes that have no colours of their own."""
    focus_border: str = "round"
    """The border around the focused pane: `round` or `heavy`."""
    flat_cursor: bool = False
    """The cursor row and the current hit are reversed instead of coloured."""
    heat_glyphs: bool = False
    """Steps of a heat strip differ by glyph, since their colours do not."""
    _styles: dict[tuple[str, str, bool, bool], Style] = field(default_factory=dict, compare=False, repr=False)

    @property
    def colourless(self) -> bool:
        """Not even text and background are told apart by us: only weight, line and reversal are left."""
        return len(set(self.colours.values())) == 1

    def style(self, role: str, on: str = "bg", *, bold: bool = False, fill: bool = False) -> Style:
        """How a text of `role` looks on the surface `on`.

        Args:
            role: One of `ROLES`.
            on: A role used as background; besides the surfaces `hit`, `hit_now`, `accent` (a chip) and `track`.
            bold: Bold also where the role is not.
            fill: Mixed into the surface, as the body of an area chart is.
        """
        key = (role, on, bold, fill)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._make(role, on, bold or role in self.bold, fill)
        return style

    def _make(self, role: str, on: str, bold: bool, fill: bool) -> Style:
        if self.flat_cursor and on == "select":
            return self._reversed(bold)
        if self.flat_cursor and on == "hit_now":
            return self._reversed(True)
        if self.ansi and on == "accent":
            return self._reversed(True)
        if self.ansi and on == "hit":
            return Style(underline=True, bold=True)
        if role == "faint" and on == "select":
            role = "muted"
        colour, surface = Color.parse(self.colours[role]), Color.parse(self.colours[on])
        if fill and not self.ansi and not self.heat_glyphs:  # without hue a mixed fill would read as disabled
            colour = surface.blend(colour, FILL)
        dim = role in self.dim
        return Style(color=colour.rich_color, bgcolor=surface.rich_color, bold=bold or None, dim=dim or None)

    def _reversed(self, bold: bool) -> Style:
        """One flat style: the text's colour as background, whatever the role."""
        if self.ansi:
            return Style(reverse=True, bold=bold or None)
        text, surface = Color.parse(self.colours["text"]), Color.parse(self.colours["bg"])
        return Style(color=surface.rich_color, bgcolor=text.rich_color, bold=bold or None)


@dataclass
class PaletteTheme(Theme):
    """A Textual theme that carries the palette it was made from."""

    palette: Palette | None = None


def theme_of(palette: Palette) -> PaletteTheme:
    """The Textual theme of `palette`: its own colours under Textual's names, and every role as a variable."""
    colours = palette.colours
    return PaletteTheme(
        name=palette.name,
        primary=colours["accent"],
        secondary=colours["accent"],
        accent=colours["accent"],
        warning=colours["warn"],
        error=colours["error"],
        success=colours["ok"],
        foreground=colours["text"],
        background=colours["bg"],
        surface=colours["raised"],
        panel=colours["raised"],
        boost=colours["raised"],
        dark=palette.dark,
        ansi=palette.ansi,
        variables={**colours, **_textual_variables(palette)},
        palette=palette,
    )


def _textual_variables(palette: Palette) -> dict[str, str]:
    """What Textual's own widgets ask for, said in our roles, and the two choices that style sheets need."""
    colours = palette.colours
    roles = {
        "ansi-background": "bg",
        "ansi-foreground": "text",
        "text-muted": "muted",
        "text-disabled": "faint",
        "border": "accent",
        "border-blurred": "line",
        "block-cursor-foreground": "strong",
        "block-cursor-background": "select",
        "block-cursor-blurred-foreground": "text",
        "block-cursor-blurred-background": "raised",
        "block-hover-background": "raised",
        "input-cursor-background": "accent",
        "input-cursor-foreground": "on_accent",
        "input-selection-background": "select",
        "footer-background": "bg",
        "footer-item-background": "bg",
        "footer-description-background": "bg",
        "footer-key-background": "bg",
        "footer-foreground": "muted",
        "footer-description-foreground": "muted",
        "footer-key-foreground": "accent",
        "scrollbar": "line",
        "scrollbar-hover": "muted",
        "scrollbar-active": "accent",
        "scrollbar-background": "bg",
        "scrollbar-background-hover": "bg",
        "scrollbar-background-active": "bg",
        "scrollbar-corner-color": "bg",
        "link-color": "accent",
        "link-color-hover": "strong",
        "button-foreground": "text",
        "button-color-foreground": "on_accent",
        "screen-selection-background": "select",
        "screen-selection-foreground": "strong",
    }
    variables = {name: colours[role] for name, role in roles.items()}
    flat = palette.flat_cursor
    return {
        **variables,
        "focus-border": palette.focus_border,
        "chip-style": "bold reverse" if palette.colourless else "bold",
        "field-style": "underline" if colours["raised"] == colours["bg"] else "none",
        "disabled-style": "dim" if flat else "none",
        "block-cursor-text-style": "reverse" if flat else "none",
        "block-cursor-blurred-text-style": "none",
        "input-cursor-text-style": "reverse" if palette.ansi else "none",
        "button-focus-text-style": "reverse" if flat else "bold",
    }


_foreign: dict[str, Palette] = {}


def palette_of(theme: Theme) -> Palette:
    """The palette that a Textual theme was made from; of a theme that is not ours, one with its nearest colours."""
    if isinstance(theme, PaletteTheme) and theme.palette is not None:
        return theme.palette
    if theme.name not in _foreign:
        _foreign[theme.name] = _approximate(theme)
    return _foreign[theme.name]


def _approximate(theme: Theme) -> Palette:
    names = theme.to_color_system().generate()
    pick = {
        **{"bg": "background", "raised": "panel", "select": "primary-muted", "line": "panel", "track": "panel"},
        **{"text": "foreground", "strong": "foreground", "muted": "foreground", "faint": "foreground"},
        **{"accent": "accent", "on_accent": "background", "ok": "success", "warn": "warning", "error": "error"},
        **{"foreign": "secondary", "util": "success", "mem": "primary", "temp": "warning", "power": "secondary"},
        **{"hit": "warning-muted", "hit_now": "warning"},
        **dict(zip(SERIES, ("success", "warning", "primary", "error"), strict=True)),
        **dict.fromkeys(HEAT, "success"),
    }
    background = Color.parse(names["background"])
    colours = {}
    for role, name in pick.items():
        colour = Color.parse(names[name].split()[0])  # "ansi_blue 50%": the sixteen colours have no shares
        opaque = colour if colour.a == 1 else background if theme.ansi else background + colour
        colours[role] = opaque.hex
    return Palette(theme.name, theme.dark, colours, ansi=theme.ansi, flat_cursor=theme.ansi, heat_glyphs=True)
