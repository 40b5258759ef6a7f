"""The shape of report.json, version 1. How it is filled is in report.py; how it is shown, in unbroken.render.

`python -m unbroken.rehearsal.report_model` prints its JSON Schema, committed as report.schema.json.
All times ending in `_s` are seconds, those named `start_s`, `end_s` and `at_s` since the rehearsal began.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Group(_Part):
    """An instance group of the cluster file."""

    name: str
    instance_type: str
    num_instances: int


class Cluster(_Part):
    name: str
    region: str
    groups: list[Group] = []


class Failure(_Part):
    """What ended the rehearsal early."""

    stage: str
    message: str
    hint: str = ""
    log: list[str] = []
    """The last lines of the log that explains it."""


class Stage(_Part):
    name: str
    title: str
    start_s: float
    seconds: float
    ok: bool


class Span(_Part):
    """A stretch of a node's life in one status, as the emulated service reports it."""

    status: str
    start_s: float
    end_s: float
    instance_id: str = ""
    message: str = ""


class LifecycleStep(_Part):
    """A step of the lifecycle bundle on a node."""

    step: str
    result: str
    seconds: float
    at_s: float


class Node(_Part):
    name: str
    group: str = ""
    spans: list[Span] = []
    lifecycle: list[LifecycleStep] = []


class Mark(_Part):
    """A moment worth a line in the timeline."""

    kind: Literal["fault", "detected", "marked", "replaced", "resumed"]
    at_s: float
    label: str
    node: str = ""


class Attempt(_Part):
    """A stretch of training without an interruption."""

    attempt: int
    start_s: float
    end_s: float
    first_step: int
    last_step: int


class Job(_Part):
    id: str = ""
    state: str = ""
    attempts: list[Attempt] = []


class Recovery(_Part):
    """One injected fault and what followed; times count from the fault, None means it was not seen."""

    fault: str
    description: str = ""
    node: str
    at_s: float
    step: int | None = None
    """The last step finished before the fault."""
    detected_s: float | None = None
    marked_s: float | None = None
    resume_action: str = ""
    replaced_s: float | None = None
    """The replacement is back, idle in Slurm."""
    resumed_s: float | None = None
    """The first training step after the fault is done."""
    resumed_from_step: int | None = None
    same_job_id: bool | None = None
    steps_lost: int | None = None
    """Steps that had to be done again."""


class Loss(_Part):
    """The loss of every step, in the order in which the steps were done."""

    steps: list[int] = []
    values: list[float] = []
    resumed_at: list[int] = []
    """Indices into steps at which a new attempt begins."""
    compared_steps: int = 0
    """Steps done both before and after an interruption."""
    max_relative_difference: float | None = None
    matches_undisturbed: bool | None = None
    """Whether the steps done twice agree; None where none was done twice."""


class Ledger(_Part):
    """Emulated behaviours, and how many were verified on AWS."""

    total: int = 0
    verified_on_aws: int = 0


class Reality(_Part):
    """What ran for real and what did not."""

    real: list[str] = []
    emulated: list[str] = []
    replayed: list[str] = []
    left_out: list[str] = []


class Change(_Part):
    """A setting that the rehearsal changed, and from what."""

    setting: str
    cluster_file: str
    rehearsal: str


class Report(_Part):
    """report.json."""

    schema_version: Literal[1] = 1
    verdict: Literal["passed", "failed"]
    mode: Literal["full", "reduced"]
    headline: str
    problems: list[str] = []
    """Why the verdict is failed, a sentence each."""
    id: str
    started: str
    """UTC, ISO 8601."""
    seconds: float
    cluster: Cluster
    failure: Failure | None = None
    stages: list[Stage] = []
    nodes: list[Node] = []
    marks: list[Mark] = []
    job: Job = Job()
    recovery: list[Recovery] = []
    loss: Loss = Loss()
    destroyed: bool = False
    """Whether the destroy was run and what it left was looked for."""
    leftovers: list[str] = []
    """What the destroy should have removed and did not."""
    kept: list[str] = []
    """What the cluster file says to keep."""
    ledger: Ledger = Ledger()
    versions: dict[str, str] = {}
    reality: Reality = Reality()
    overlay: list[Change] = []


def schema() -> dict[str, Any]:
    """The JSON Schema of report.json."""
    return Report.model_json_schema()


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
