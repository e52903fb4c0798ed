"""The kind `generate`: text from a language model for a list of prompts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from accel_tui.jobs.arguments import GENERATION, checked
from accel_tui.jobs.faults import JobFieldError
from accel_tui.jobs.spec import Job, Model, Table, Text


class Generate(Table):
    """Prompts and how they are answered."""

    prompts: list[str] = Field(
        default_factory=list,
        description="Prompts, one item each; those of `prompts_file` follow.",
        json_schema_extra={"common": True},
    )
    prompts_file: Text | None = Field(
        None,
        min_length=1,
        description="Prompts from a file: text with one per line, or JSON lines with `prompt`.",
        json_schema_extra={"common": True, "path": "file"},
    )
    chat: Literal["auto", "yes", "no"] = Field(
        "auto", description="Whether prompts go through the model's chat template; `auto`: when it has one."
    )
    system: str | None = Field(None, description="System message in front of every prompt.")
    stream: bool = Field(True, description="Write the text to the log while it is made.")
    seed: int = Field(0, ge=0, lt=1 << 32, description="Seed of sampling: the same one gives the same text.")
    output: Text | None = Field(
        None,
        min_length=1,
        description="File for the results; by default `artefacts/results.jsonl` of the run.",
        json_schema_extra={"path": "file"},
    )
    arguments: Annotated[dict[str, Any], AfterValidator(lambda table: checked(GENERATION, table))] = Field(
        default_factory=dict,
        description="GenerationConfig of transformers, by its own names.",
        json_schema_extra={"common": True, "table": GENERATION},
    )

    @model_validator(mode="after")
    def _has_prompts(self) -> Generate:
        if not self.prompts and not self.prompts_file:
            raise JobFieldError(("prompts",), "is missing", remedy='prompts = ["…"], or prompts_file', kind="missing")
        return self


class GenerateJob(Job):
    """Generates text."""

    kind: Literal["generate"] = Field("generate", description="Generates text from prompts.")
    model: Model
    generate: Generate


JOB = GenerateJob
