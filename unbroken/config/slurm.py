"""The cluster file's ``slurm`` section: how HyperPod is told about Slurm, and what Slurm does with tasks."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.section import Section, refusal


def _secret_arn(value: str) -> str:
    if not re.fullmatch(r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+", value):
        raise refusal(
            "is not the ARN of a secret", "write arn:aws:secretsmanager:<region>:<account>:secret:<name>"
        )
    return value


class AccountingDatabase(Section):
    """A MySQL or MariaDB server outside the cluster, so that accounting outlives the controller."""

    endpoint: str
    """Host name of the server, reachable from the private subnet."""
    secret_arn: Annotated[str, AfterValidator(_secret_arn)]
    """Secret with the user's name and password."""
    name: Annotated[str, Field(min_length=1, max_length=64)] = "slurm_acct_db"
    """Name of the database."""
    port: Annotated[int, Field(ge=1, le=65535)] = 3306
    """Port of the server."""


class SlurmConfig(Section):
    """The form in which HyperPod learns of Slurm."""

    mode: Literal["scripts", "api"] = "scripts"
    """``scripts``: a provisioning_parameters.json beside on_create.sh, and our steps start Slurm. ``api``:
    HyperPod's own Slurm configuration; HyperPod starts Slurm, then runs our steps as OnInitComplete."""
    partition_strategy: Literal["Managed", "Overwrite", "Merge"] = "Managed"
    """``api`` mode: whether partitions changed by hand are refused, overwritten or kept."""
    accounting_database: AccountingDatabase | None = None
    """An external accounting database (``api`` mode with continuous provisioning; cannot be taken back)."""
    auto_resume: bool = True
    """Jobs are started with ``srun --auto-resume=1``, so that HyperPod replaces a failed node under them."""
    task_plugin: Literal["task/none", "task/affinity", "task/cgroup", "task/affinity,task/cgroup"] = (
        "task/none"
    )
    """Slurm's TaskPlugin; auto-resume works with ``task/none`` only."""
    pam_slurm_adopt: bool = False
    """Whether people may log in only to nodes where a job of theirs runs; not together with auto-resume."""
