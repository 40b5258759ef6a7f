"""The cluster file's ``slurm`` section: how HyperPod is told about Slurm."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from unbroken.config.section import Section, refusal


def _not_yet(value: Any) -> Any:
    if value == "api":
        raise refusal(
            "comes later: this version describes Slurm by provisioning_parameters.json only",
            "use scripts, the default",
        )
    return value


class SlurmConfig(Section):
    """The form in which HyperPod learns of Slurm."""

    mode: Annotated[Literal["scripts"], BeforeValidator(_not_yet)] = "scripts"
    """``scripts``: a provisioning_parameters.json beside on_create.sh."""
