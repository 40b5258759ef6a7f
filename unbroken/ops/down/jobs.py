"""Jobs that would end with the cluster."""

from __future__ import annotations

from unbroken.aws import AwsError
from unbroken.config import ClusterConfig
from unbroken.ops.controller import on_controller
from unbroken.ops.errors import CannotRun
from unbroken.ops.target import Target

_LISTED = "squeue --noheader --format='job %i of %u: %j, %T for %M'"


def jobs(target: Target, config: ClusterConfig) -> tuple[list[str] | None, str]:
    """Each job in a line; None with the reason where the controller could not be asked."""
    try:
        said = on_controller(target, config, _LISTED)
    except (CannotRun, AwsError) as error:
        return None, str(error)
    return [line for line in said.splitlines() if line.strip()], ""
