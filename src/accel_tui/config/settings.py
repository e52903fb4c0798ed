"""What a person may set: one table declares each setting; file, then `ACCEL_TUI_…` variable, then flag decide."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.config.toml import read_toml
from accel_tui.model.errors import FileError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE_PREFIX = "ACCEL_TUI_"
GIB = 1024**3


@dataclass(frozen=True)
class Declaration:
    """Where a setting stands in the file, what it may be, and what it is for."""

    name: str
    """The attribute of `Settings`, the last part of the file key, and the variable without its prefix."""
    table: str | None
    """The table of `config.toml`; None for the top level."""
    kind: type
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    is_path: bool = False

    @property
    def key(self) -> str:
        """The dotted key of the file, such as `queue.max_running`."""
        return self.name if self.table is None else f"{self.table}.{self.name}"

    @property
    def variable(self) -> str:
        return VARIABLE_PREFIX + self.name.upper()


def _setting(
    default: Any,
    text: str,
    *,
    kind: type = str,
    table: str | None = None,
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    is_path: bool = False,
) -> Any:
    declared = {"table": table, "kind": kind, "help": text, "choices": choices, "minimum": minimum, "maximum": maximum}
    return field(default=default, metadata={**declared, "is_path": is_path})


@dataclass(frozen=True)
class Settings:
    """Everything that may be set; immutable, JSON values only. A field's metadata is its whole declaration."""

    state_dir: str | None = _setting(None, "folder of runs, socket and history; local and per host", is_path=True)
    artefacts_root: str | None = _setting(
        None, "where checkpoints and results go; default: inside each run's folder", is_path=True
    )
    python: str | None = _setting(None, "interpreter of jobs that name none", is_path=True)
    lock_dir: str | None = _setting(None, "folder of device locks, shared by all users of the host", is_path=True)
    gaudi_source: str = _setting("auto", "what answers readings of Gaudi", choices=("auto", "hlml", "hl-smi", "sysfs"))
    xpu_source: str = _setting("auto", "what answers readings of XPU", choices=("auto", "sysman", "sysfs"))
    hlml_library: str | None = _setting(None, "libhlml.so of Gaudi", is_path=True)
    hl_smi: str | None = _setting(None, "hl-smi of Gaudi", is_path=True)
    level_zero_loader: str | None = _setting(None, "libze_loader.so of XPU", is_path=True)
    xpu_smi: str | None = _setting(None, "xpu-smi of XPU", is_path=True)
    sysfs_root: str = _setting("/sys", "stands for /sys", is_path=True)
    proc_root: str = _setting("/proc", "stands for /proc", is_path=True)
    dev_root: str = _setting("/dev", "stands for /dev", is_path=True)
    docker: str | None = _setting(None, "docker or a program that takes its commands", is_path=True)
    max_running: int = _setting(16, "most runs at a time", kind=int, table="queue", minimum=1, maximum=10_000)
    cpu_slots: int = _setting(1, "most runs at a time on the CPU", kind=int, table="queue", minimum=1, maximum=10_000)
    yield_minutes: float = _setting(
        10.0, "a card that another user has waited for this long is left to them", kind=float, table="queue", minimum=0
    )
    retry_seconds: float = _setting(
        10.0, "pause before the first retry of a failed run, then twice as long", kind=float, table="queue", minimum=0
    )
    idle_seconds: float = _setting(
        300.0, "the supervisor ends after so long without work", kind=float, table="supervisor", minimum=0
    )
    grace_seconds: float = _setting(10.0, "from SIGTERM to SIGKILL", kind=float, table="stop", minimum=0)
    save_seconds: float = _setting(120.0, "for a worker to save a checkpoint", kind=float, table="stop", minimum=0)
    linger_seconds: float = _setting(
        5.0, "for processes left when the main one ended", kind=float, table="stop", minimum=0
    )
    minimum_free_bytes: int = _setting(
        GIB, "no run starts with less free space under the state folder", kind=int, table="log", minimum=0
    )
    log_cap_bytes: int = _setting(
        16 * GIB, "of a longer log the middle is given back to the disk; 0: never", kind=int, table="log", minimum=0
    )
    log_compress_days: float = _setting(
        7.0, "logs of runs that ended so long ago are compressed; 0: never", kind=float, table="log", minimum=0
    )
    log_remove_days: float = _setting(
        0.0, "logs of runs that ended so long ago are removed; 0: never", kind=float, table="log", minimum=0
    )
    config_dir: str = field(default="", metadata={"hidden": True})
    """The folder that the file was looked for in, absolute; set by variable or flag alone."""

    def to_json(self) -> dict[str, Any]:
        """Every setting by its name, as a supervisor tells a client what it was started with."""
        return asdict(self)


DECLARATIONS: tuple[Declaration, ...] = tuple(
    Declaration(name=one.name, **one.metadata) for one in fields(Settings) if not one.metadata.get("hidden")
)
_BY_KEY = {declaration.key: declaration for declaration in DECLARATIONS}
_BY_NAME = {declaration.name: declaration for declaration in DECLARATIONS}


def config_folder(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Path:
    """`--config-dir`, else `ACCEL_TUI_CONFIG_DIR`, else `$XDG_CONFIG_HOME/accel-tui`, absolute; it need not exist."""
    chosen = flags.get("config_dir") or environment.get("ACCEL_TUI_CONFIG_DIR")
    if chosen:
        return Path(_absolute(str(chosen), environment))
    return xdg_folder("XDG_CONFIG_HOME", ".config", environment) / "accel-tui"


def xdg_folder(variable: str, below_home: str, environment: Mapping[str, str]) -> Path:
    """A base folder of the XDG specification, which tells to ignore relative values."""
    value = environment.get(variable, "")
    if value.startswith("/"):
        return Path(value)
    return Path(_absolute("~", environment)) / below_home


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """The settings that hold here: `config.toml`, over it the variables, over them the flags.

    Args:
        flags: Setting name to value, as parsed by a face; None means not given. Names that are no settings are ignored.
        environment: Where `ACCEL_TUI_…`, `HOME` and the XDG variables are looked up.

    Raises:
        FileError: `config.toml` is broken, or holds an unknown key or a wrong value.
        UsageError: a variable or a flag holds a wrong value.
    """
    folder = config_folder(flags, environment)
    file = folder / "config.toml"
    values: dict[str, Any] = {}
    if _stands_there(file):
        for key, value in _flatten(file, read_toml(file)):
            values[_BY_KEY[key].name] = _checked(_BY_KEY[key], value, environment, _file_fault(file, key))
    for declaration in DECLARATIONS:
        text = environment.get(declaration.variable)
        if text:  # empty means not set, as usual for variables
            fault = _usage_fault(f"the variable {declaration.variable}")
            values[declaration.name] = _checked(declaration, _parsed(declaration, text), environment, fault)
        value = flags.get(declaration.name)
        if value is not None:
            fault = _usage_fault(f"--{declaration.name.replace('_', '-')}")
            parsed = _parsed(declaration, value) if isinstance(value, str) else value
            values[declaration.name] = _checked(declaration, parsed, environment, fault)
    return Settings(**values, config_dir=str(folder))


def _stands_there(file: Path) -> bool:
    """Whether there is a file to read; one that cannot be looked at counts, so that the reader says why."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _flatten(file: Path, document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The file's entries by dotted key; unknown ones are refused with the nearest known name."""
    tables = {declaration.table for declaration in DECLARATIONS if declaration.table}
    entries: list[tuple[str, Any]] = []
    for name, value in document.items():
        if name in tables and isinstance(value, dict):
            entries += [(f"{name}.{inner}", inner_value) for inner, inner_value in value.items()]
        elif name in tables:
            raise FileError(f"{file}: {name}: a table is expected", remedy=f"write [{name}] and its keys below it")
        else:
            entries.append((name, value))
    for key, _ in entries:
        if key not in _BY_KEY:
            raise FileError(f"{file}: {key}: unknown setting", remedy=_nearest(key))
    return entries


def _nearest(key: str) -> str:
    import difflib  # late: only a mistake needs it

    last = key.rpartition(".")[2]
    if last in _BY_NAME:
        return f"did you mean {_BY_NAME[last].key}?"
    close = difflib.get_close_matches(key, _BY_KEY, n=1, cutoff=0.5)
    close = close or [_BY_NAME[name].key for name in difflib.get_close_matches(last, _BY_NAME, n=1, cutoff=0.5)]
    return f"did you mean {close[0]}?" if close else f"known settings: {', '.join(sorted(_BY_KEY))}"


def _file_fault(file: Path, key: str) -> Callable[[str, str], FileError]:
    return lambda what, remedy: FileError(f"{file}: {key}: {what}", remedy=remedy)


def _usage_fault(place: str) -> Callable[[str, str], UsageError]:
    return lambda what, remedy: UsageError(f"{place}: {what}", remedy=remedy)


def _parsed(declaration: Declaration, text: str) -> Any:
    """`text` as the kind of its setting, or `text` itself where it is none: the check that follows names the fault."""
    if declaration.kind is str:
        return text
    try:
        return int(text) if declaration.kind is int else float(text)
    except ValueError:
        return text


def _checked(
    declaration: Declaration, value: Any, environment: Mapping[str, str], fault: Callable[[str, str], Exception]
) -> Any:
    words = {str: "a text in quotes", int: "a whole number", float: "a number"}
    kinds = (int, float) if declaration.kind is float else (declaration.kind,)
    fits = isinstance(value, kinds) and not isinstance(value, bool) and str(value) != "nan"
    if not fits:
        raise fault(f"{words[declaration.kind]} is expected, not {value!r}", declaration.help)
    if declaration.choices and value not in declaration.choices:
        raise fault(f"{value!r} is none of {', '.join(declaration.choices)}", "take one of them")
    if declaration.minimum is not None and value < declaration.minimum:
        raise fault(f"{value} is too small", f"the least is {declaration.minimum:g}")
    if declaration.maximum is not None and value > declaration.maximum:
        raise fault(f"{value} is too large", f"the most is {declaration.maximum:g}")
    if declaration.is_path:
        if not value or "\x00" in value:
            raise fault("a path is expected", declaration.help)
        # A bare program name stays one: it is looked up on PATH where it is used.
        return value if "/" not in value and not value.startswith(("~", ".")) else _absolute(value, environment)
    return float(value) if declaration.kind is float else value


def _absolute(text: str, environment: Mapping[str, str]) -> str:
    """`text` with `~` of this environment and made absolute; links stay as they are, since their target may move."""
    if text == "~" or text.startswith("~/"):
        text = (environment.get("HOME") or str(Path("~").expanduser())) + text[1:]
    return os.path.abspath(text)  # noqa: PTH100 - Path.resolve would follow links
