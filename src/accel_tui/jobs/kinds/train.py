"""The kind `train`: fine-tuning of a causal language model on local text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from accel_tui.jobs.arguments import TRAINING, checked
from accel_tui.jobs.spec import Data, Job, Model, Table, Text


class Train(Table):
    """What is trained and where it goes."""

    method: Literal["full"] = Field(
        "full", description="Which weights are trained; `full`: all of them.", json_schema_extra={"common": True}
    )
    output: Text | None = Field(
        None,
        min_length=1,
        description="Folder for checkpoints and the model; by default `artefacts` of the run.",
        json_schema_extra={"common": True, "path": "file"},
    )
    resume_from: Text | None = Field(
        None,
        min_length=1,
        description="A checkpoint, or an output folder whose newest complete checkpoint is taken.",
        json_schema_extra={"path": "file"},
    )
    arguments: Annotated[dict[str, Any], AfterValidator(lambda table: checked(TRAINING, table))] = Field(
        default_factory=dict,
        description="TrainingArguments of transformers, by its own names.",
        json_schema_extra={"common": True, "table": TRAINING},
    )


class TrainJob(Job):
    """Trains a model."""

    kind: Literal["train"] = Field("train", description="Fine-tunes a model on text.")
    model: Model
    data: Data
    train: Train = Field(default_factory=Train)


JOB = TrainJob
