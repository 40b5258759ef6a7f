"""When and how HyperPod patches the software of a group's nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.section import Fault, Section, refusal

_CRON = " ".join(
    (
        r"([0-5]?\d)",
        r"([01]?\d|2[0-3])",
        r"(0?[1-9]|[12]\d|3[01]|\?)",
        r"(0?[1-9]|1[0-2]|\*(/([1-9]|1[0-2]))?)",
        r"(MON|TUE|WED|THU|FRI|SAT|SUN|[1-7](#[1-5]|L)?|\?|L)",
        r"(20[2-9]\d|\*)",
    )
)
"""Minute, hour, day, month, weekday and year, as CloudFormation's schema of the cluster has them."""


def _schedule(value: str) -> str:
    found = re.fullmatch(rf"cron\({_CRON}\)", value)
    if found is None or value.count("?") != 1:
        rule = "is not a schedule: minute, hour, day, month, weekday and year, with ? for one of the days"
        raise refusal(rule, "write it as cron(0 3 ? * SUN *) or cron(0 3 1 * ? *), in UTC")
    return value


AlarmName = Annotated[str, Field(min_length=1, max_length=255)]


class RollingUpdate(Section):
    """How many nodes at a time, and what turns it back. AWS's guide offers it for EKS; for Slurm: untried."""

    max_nodes: Annotated[int, Field(ge=1, le=6758)] | None = None
    """Nodes updated together; or give max_percent."""
    max_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """Part of the group updated together."""
    wait_seconds: Annotated[int, Field(ge=0, le=3600)] = 0
    """Pause before the next batch."""
    rollback_alarms: Annotated[list[AlarmName], Field(max_length=10)] = Field(default_factory=list)
    """Names of CloudWatch alarms that stop the update and turn it back."""

    def faults(self) -> Iterator[Fault]:
        """One of the two sizes."""
        if self.max_nodes is not None and self.max_percent is not None:
            rule = "is given beside max_nodes, and the service takes one of them"
            yield Fault(("max_percent",), self.max_percent, rule, "keep one of the two")


class ScheduledUpdate(Section):
    """Software updates at set times; nodes get a fresh root volume and run the lifecycle scripts again."""

    schedule: Annotated[str, AfterValidator(_schedule)]
    """``cron(...)``, UTC."""
    rolling: RollingUpdate = RollingUpdate()
    """How many nodes at a time."""


class AutoPatch(Section):
    """Security patches whenever nodes are free."""

    strategy: Literal["WhenIdle", "WhenAllIdle"] = "WhenIdle"
    """``WhenIdle`` takes each node as it becomes idle, ``WhenAllIdle`` waits for the whole group."""
