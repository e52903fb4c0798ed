"""A log with an invented failure, as a pane will show it: numbers, ranks, severities, hits."""

from __future__ import annotations

import re

from textual.app import App, ComposeResult

from accel_tui.config.shipped import shipped_folder
from accel_tui.logs.ranks import split_rank
from accel_tui.logs.severity import Severity, severity_of
from accel_tui.tui.glyphs import GLYPHS, Glyphs, thousands
from accel_tui.tui.palette import Palette, theme_of
from accel_tui.tui.styles import BASE
from accel_tui.tui.theme import load_themes
from accel_tui.tui.widgets.bar import bar
from accel_tui.tui.widgets.frame import Frame
from accel_tui.tui.widgets.lines import Lines
from accel_tui.tui.widgets.logline import Dressed, LogLine
from accel_tui.tui.widgets.logview import LogView
from accel_tui.tui.widgets.painted import ASCII_CLASS
from accel_tui.tui.widgets.pieces import Ends, Piece, Rule, cell
from support.bytes_source import FakeSource

TEXT = (
    "".join(
        f"[rank0]: {{'loss': {2.185 - number / 500:.3f}, 'grad_norm': 1.65, 'learning_rate': 3.1e-06, 'epoch': 0.07}}\n"
        for number in range(120)
    )
    + "[rank1]: WARNING grad_norm of layer 31 is 48.2, clipped to 1.0\n"
    + "[rank0]: \rTraining:   1%|\rTraining:   8%|#         | 117/1500\n"
    + "[rank2]: Traceback (most recent call last):\n"
    + '[rank2]:   File "train.py", line 212, in main\n'
    + "[rank2]:     trainer.train()\n"
    + "[rank2]: RuntimeError: [Rank:2] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::2147483648\n"
    + "\x1b[31m[launcher]\x1b[0m sent SIGTERM to 3 processes, all ended in 0.9 s [@click=app.quit]\n"
    + "ChildFailedError: train.py FAILED, root cause rank 2, exit code 1, Allocation failed\n"
)


class LogGallery(App[None]):
    """One log in its frame, with the progress below it."""

    CSS_PATH = BASE
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, palette: Palette | None = None, *, ascii_only: bool = False) -> None:
        self.chosen = palette or load_themes(shipped_folder("themes")).palettes["basalt"]
        super().__init__(ansi_color=self.chosen.ansi or None)
        self.register_theme(theme_of(self.chosen))
        self.theme = self.chosen.name
        self.set_class(ascii_only, ASCII_CLASS)
        self.signs = Glyphs(ascii_only)

    def compose(self) -> ComposeResult:
        with Frame("Log", 5):
            yield LogView(FakeSource(TEXT.encode()), rate=0, dress=self.dress)
            yield Lines(id="progress")

    def on_mount(self) -> None:
        view = self.query_one(LogView)
        view.focus()
        view.highlight(re.compile("Allocation failed"))
        self.call_after_refresh(view.go_to, TEXT.index("[rank2]: RuntimeError"))
        progress = cell(Piece("rank 2 ", "muted"), *bar(117 / 1500, 40, "error", self.signs), "  117/1500")
        self.query_one("#progress", Lines).show(
            [Rule("progress when it ended"), Ends(progress, cell(Piece("failed here", "error")))]
        )

    def on_log_view_changed(self, message: LogView.Changed) -> None:
        status = message.status
        mode = "all ranks, following" if status.following else f"all ranks, {thousands(status.behind)} lines behind"
        facts = cell(Piece(f"{thousands(status.total)} lines   / find   }} next warning", "muted"))
        self.query_one(Frame).tell(cell("llama-fsdp  ", Piece(mode, "muted")), facts)

    def dress(self, line: LogLine) -> Dressed:
        """Number, rank, severity, text; red for errors, amber for warnings."""
        rank, text = split_rank(line.text)
        severity = severity_of(line.text)
        role = {Severity.ERROR: "error", Severity.WARNING: "warn", None: "text"}[severity]
        sign = {Severity.ERROR: "failed", Severity.WARNING: "warning"}.get(severity) if severity else None
        gutter = (
            Piece(f"{'' if line.number is None else line.number + 1:>5} ", "faint"),
            Piece(f"{'L' if rank is None else rank}", "muted"),
            Piece(self.signs.text("upright"), "line"),
            Piece(f"{self.signs.text(sign) if sign else ' '} ", GLYPHS[sign].role if sign else "text"),
        )
        return Dressed(gutter, (Piece(text, role),))
