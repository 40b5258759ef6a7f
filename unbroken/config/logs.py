"""The cluster file's ``logs`` section: how long logs are kept."""

from __future__ import annotations

from typing import Literal

from unbroken.config.section import Section

# The periods CloudWatch Logs accepts, up to a year.
RetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365]


class LogsConfig(Section):
    """CloudWatch log groups: flow logs, and the group HyperPod makes for the nodes."""

    retention_days: RetentionDays = 30
    """Days that lines are kept."""
    deletion: Literal["retain", "delete"] = "retain"
    """What `unbroken down` does with the nodes' logs; kept ones expire with their lines."""
