"""When and how HyperPod patches the software of a group's nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.section import Fault, Section, refusal


def _schedule(value: str) -> str:
    """Six fields, with ``?`` for one of the two kinds of day (EventBridge user guide, cron expressions)."""
    found = re.fullmatch(r"cron\(([0-9A-Z*?,/#\- ]+)\)", value)
    fields = found.group(1).split() if found else []
    if len(fields) != 6 or (fields[2] == "?") == (fields[4] == "?") or len(value) > 256:
        rule = "is not a schedule: minutes, hours, day of month, month, day of week and year, one day a ?"
        raise refusal(rule, "write it as cron(0 3 ? * SUN *), in UTC")
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
