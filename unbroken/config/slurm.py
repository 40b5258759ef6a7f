"""The cluster file's ``slurm`` section: how HyperPod is told about Slurm, and what Slurm does with tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.fields import DnsName
from unbroken.config.section import Fault, Section, refusal

_ONE_OF_BOTH = "leave it out, or set auto_resume: false and restart jobs yourself after a fault"


def _secret_arn(value: str) -> str:
    if not re.fullmatch(r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+", value):
        raise refusal(
            "is not the ARN of a secret", "write arn:aws:secretsmanager:<region>:<account>:secret:<name>"
        )
    return value


class AccountingDatabase(Section):
    """A MySQL or MariaDB server outside the cluster, so that accounting outlives the controller."""

    endpoint: DnsName
    """Host name of the server, reachable from the private subnet."""
    secret_arn: Annotated[str, AfterValidator(_secret_arn)]
    """Secret with the user's name and password."""
    name: Annotated[str, Field(pattern=r"^[0-9A-Za-z_$]{1,64}$")] | None = None
    """Name of the database; ``slurm_acct_db_<cluster id>``, AWS's default, unless given."""
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

    def faults(self) -> Iterator[Fault]:
        """Auto-resume checks slurm.conf when a job starts, and resumes none under what it does not support.

        It prints "slurm.conf has TaskPlugin=... Only task/none is supported now" or "Config unsupported :
        PrologFlags=Alloc", a flag that Contain brings along (slurm.conf(5)).
        """
        if self.auto_resume and self.task_plugin != "task/none":
            rule = "together with auto_resume: HyperPod resumes jobs under task/none only"
            yield Fault(("task_plugin",), self.task_plugin, rule, _ONE_OF_BOTH)
        if self.auto_resume and self.pam_slurm_adopt:
            rule = (
                "together with auto_resume: it needs PrologFlags=Contain, under which HyperPod resumes no job"
            )
            yield Fault(("pam_slurm_adopt",), True, rule, _ONE_OF_BOTH)
        if self.mode != "api" and "partition_strategy" in self.model_fields_set:
            rule = "has no effect in scripts mode"
            yield Fault(("partition_strategy",), self.partition_strategy, rule, "remove it, or use mode: api")
