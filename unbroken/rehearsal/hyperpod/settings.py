"""What can be turned on the emulated service, and the clock it is given.

The real service's waits are minutes; here they are as short as they go unless a setting says otherwise.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every field has the value the rehearsal uses by default."""

    account_id: str = "000000000000"
    region: str = "us-west-2"
    state_dir: Path | None = None
    """Folder for ``nodes.json``; None writes none."""

    boot_timeout_seconds: float = 60.0
    """Limit for a machine's init to come up."""

    lifecycle_timeout_seconds: float = 600.0
    """Limit for the lifecycle script. AWS publishes none; a hang fails the node there too."""

    slurm_conf_timeout_seconds: float = 20.0
    """Limit for the controller's cluster agent to write slurm.conf before the lifecycle script runs."""

    log_poll_seconds: float = 0.5
    """How often a running lifecycle script's log is shipped."""

    health_poll_seconds: float = 0.5
    """How often machines are looked at for having died by themselves."""

    replacement_seconds: float = 0.0
    """Extra wait before a replacement machine starts; 20 to 30 minutes on AWS."""

    view_lag_seconds: float = 0.2
    """How long the API shows an instance's previous status; 1 to 5 minutes on AWS."""

    worker_config_lag_seconds: float = 0.2
    """How long after the controller the other nodes get a new resource_config.json."""

    echo_seconds: float = 3.0
    """How long after an operation on a node the agent's request for it is taken as that operation's own echo:
    a node that was rebooted in order was, for a moment, not reachable."""

    software_update_attempts: int = 2
    """How often a node's script is tried in UpdateClusterSoftware before rolling back; 4 were seen on AWS."""

    require_patched: bool = False
    """Refuse replace and reboot until UpdateClusterSoftware ran once, as AWS does for older clusters."""

    continuous_retry_seconds: float = 1.0
    """Pause before a failed worker is booted again with NodeProvisioningMode Continuous."""

    min_count_timeout_seconds: float = 10.0
    """How long a group may stay below its MinInstanceCount before it is rolled back; 3 hours on AWS."""

    slurm_while_script_runs: bool = False
    """Where the service configures Slurm: do it while OnInitComplete runs, not before. Both are told."""

    deep_health_check_seconds: float = 0.0
    """How long a node is in its deep health checks; an hour and more on AWS."""

    gres: bool = False
    """Give GPU nodes ``Gres=gpu:N`` in Slurm. Both forms were seen on AWS."""

    login_nodes_in_slurm: bool = True
    """Have login nodes in slurm.conf, as current machine images have them; older ones do not."""


class Clock(Protocol):
    """Time, so that tests need not wait for it."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The real clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait; returns at once for 0 or less."""
        if seconds > 0:
            time.sleep(seconds)


class Events(Protocol):
    """Where the service tells what happens; ``unbroken.rehearsal.events.EventLog`` is one."""

    def emit(self, source: str, kind: str, subject: str, /, **data: object) -> object:
        """Record one event."""
