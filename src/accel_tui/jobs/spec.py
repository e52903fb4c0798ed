"""The declared fields of a job that all kinds share, and the reading of a job from plain data.

A field states name, type, default, help and choices once; file check, form, flags, schema and reference page follow.
`json_schema_extra` may hold `common` (shown first in a form), `path` (how a relative path is meant: `file`,
`program`, or `model`, which may also be a name on the hub), `table` (a library's own arguments), `words` (a list that
is written on one line) and `duration` (seconds that a person writes as `2h 30m`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from accel_tui.jobs import selectors
from accel_tui.jobs.faults import JobFieldError, field_error
from accel_tui.jobs.literals import find_secret
from accel_tui.model.errors import UsageError

_DURATION = re.compile(r"(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+)\s*s)?", re.IGNORECASE)
_NAME = re.compile(r"[^\s/#\x00-\x1f\x7f-\x9f](?:[^/#\x00-\x1f\x7f-\x9f]{0,62}[^\s/#\x00-\x1f\x7f-\x9f])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def seconds(value: Any) -> Any:
    """`"2h 30m"` as seconds; numbers stay."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None or not any(match.groups()):
        raise ValueError('expected seconds, or a text such as "2h 30m"')
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _named(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("expected 1 to 64 characters without / and #, no space at either end")
    return value


def _selector(value: str) -> str:
    try:
        selectors.parse(value)
    except UsageError as error:
        raise ValueError(error.message) from None
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError(f"{value!r} is not the name of a variable")
    return value


def _clean(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a null byte, which no program can be given")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError("holds half a character, which no program can be given") from None
    return value


def _number_text(value: Any) -> Any:
    """A bare number is a fine value for a variable: `OMP_NUM_THREADS = 4`."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Text = Annotated[str, AfterValidator(_clean)]
"""A text that may become an argument, a path or a variable."""
Variable = Annotated[str, AfterValidator(_variable)]
VariableText = Annotated[Text, BeforeValidator(_number_text)]


class Table(BaseModel):
    """A table of a session file: no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_default=False)


class Launch(Table):
    """How the job is started."""

    launcher: Literal["none", "python", "torchrun", "accelerate"] | None = Field(
        None,
        description="What starts the processes; by default `none` for commands and `python` for the rest.",
        json_schema_extra={"common": True},
    )
    processes: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="Worker processes; by default one per device under torchrun and accelerate, else one.",
        json_schema_extra={"common": True},
    )
    executor: Literal["local"] = Field("local", description="Where the job runs.")
    python: Text | None = Field(
        None,
        min_length=1,
        description="The job's interpreter: a file, a virtual environment's folder, or a name on PATH.",
        json_schema_extra={"common": True, "path": "program"},
    )
    image: Text | None = Field(None, description="Container image; planned and printed by `plan --shell`, not run yet.")
    cwd: Text | None = Field(
        None, min_length=1, description="Working folder; by default the one of the submission.",
        json_schema_extra={"path": "file"},
    )  # fmt: skip
    env: dict[Variable, VariableText] = Field(
        default_factory=dict, description="Variables that the run gets. Secrets belong into `env_from`."
    )
    env_from: list[Variable] = Field(
        default_factory=list,
        description="Names of variables that are taken from the submitting shell and never stored.",
        json_schema_extra={"words": True},
    )
    after: list[Text] = Field(
        default_factory=list,
        description="Runs that must be finished first; `RUN:ok` asks for success.",
        json_schema_extra={"words": True},
    )
    retries: int = Field(
        0, ge=0, le=100,
        description="How often a failed run is tried again, after growing pauses; never after a wrong call.",
    )  # fmt: skip
    resume: Literal["none", "last"] = Field("none", description="Whether a retry goes on from the last checkpoint.")
    time_limit: Annotated[float | None, BeforeValidator(seconds)] = Field(
        None,
        gt=0,
        description='Longest duration: seconds, or a text such as "2h 30m".',
        json_schema_extra={"common": True, "duration": True},
    )


class Model(Table):
    """The model that the job loads."""

    path: Text = Field(
        min_length=1,
        description="A folder, or the name of a model on the hub.",
        json_schema_extra={"common": True, "path": "model"},
    )
    tokenizer: Text | None = Field(
        None, min_length=1, description="By default the model's own.", json_schema_extra={"path": "model"}
    )
    revision: Text | None = Field(None, description="Branch, tag or commit of a model on the hub.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto",
        description="Precision of the weights; `auto` takes the checkpoint's.",
        json_schema_extra={"common": True},
    )
    attn_implementation: Text | None = Field(None, description="Attention back end, such as `sdpa` or `eager`.")
    trust_remote_code: bool = Field(False, description="Run Python code that comes with the model.")


class Data(Table):
    """The text that a training reads."""

    path: Text = Field(
        min_length=1,
        description="A file or folder of plain text or JSON lines.",
        json_schema_extra={"common": True, "path": "file"},
    )
    format: Literal["auto", "text", "jsonl"] = Field("auto", description="`auto` decides by the file's name.")
    text_field: Text = Field("text", description="The key that holds the text in JSON lines.")
    eval_path: Text | None = Field(
        None, min_length=1, description="Text for evaluation.", json_schema_extra={"path": "file"}
    )
    eval_fraction: float = Field(
        0.05,
        ge=0,
        lt=1,
        description="Share kept for evaluation without `eval_path`; 0 means none.",
        json_schema_extra={"common": True},
    )
    block_size: int = Field(128, ge=2, description="Tokens per example.", json_schema_extra={"common": True})
    limit: int | None = Field(None, ge=1, description="Use no more than this many documents.")


@dataclass(frozen=True)
class Program:
    """What a launcher is to start, before it is wrapped."""

    form: Literal["module", "script", "program"]
    argv: tuple[str, ...]
    """The module's name or the script's path first; for a program the whole argument list."""


class Job(Table):
    """What every kind has; the kinds add their tables."""

    worker: ClassVar[bool] = True
    """Whether the run is our worker, which writes events and saves on request."""
    default_launcher: ClassVar[str] = "python"

    name: Annotated[str, AfterValidator(_named)] = Field(
        description="The job's name, unique in its file.", json_schema_extra={"common": True}
    )
    kind: str = Field(description="What is done.")
    devices: Annotated[str, AfterValidator(_selector)] | None = Field(
        None, description="Device selector; by default the session's, else `auto`.", json_schema_extra={"common": True}
    )
    launch: Launch = Field(default_factory=Launch)

    @property
    def launcher(self) -> str:
        return self.launch.launcher or self.default_launcher

    @property
    def uses_torch(self) -> bool:
        """Whether checks of the torch stack apply."""
        return self.worker or self.launcher != "none"

    def program(self, folder: str, device: str) -> Program:
        """What runs in each process; `device` is the torch device type."""
        return Program("module", ("accel_tui_worker", "run", "--folder", folder, "--device", device))


def parse_job(obj: Mapping[str, Any]) -> Job:
    """The job that a `[[job]]` table or a JSON object describes; the inverse of `model_dump(mode="json")`.

    Raises:
        JobFieldError: the first wrong field, with its path, the reason and the nearest name. Where an exit code is
            wanted, faces and loaders turn it into a FileError or a UsageError.
    """
    from accel_tui.jobs import kinds

    kind = obj.get("kind")
    if not isinstance(kind, str):
        raise JobFieldError(("kind",), "is missing" if kind is None else "must be text", remedy=kinds.listing())
    declared = kinds.declaration(kind)
    if declared is None:
        raise JobFieldError.unknown_value(("kind",), kind, kinds.names())
    secret = find_secret(obj)
    if secret is not None:
        raise JobFieldError(secret.path, secret.reason, remedy=secret.remedy, kind="secret")
    content = dict(obj)
    content.setdefault("name", kind)
    try:
        return declared.model_validate(content)
    except ValidationError as error:
        raise field_error(declared, error) from None
