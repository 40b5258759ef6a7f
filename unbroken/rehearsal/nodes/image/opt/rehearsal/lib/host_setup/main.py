"""Carries out the service's orders for this node, once; a failure is said in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from host_setup import accounting, daemons, mounts
from host_setup.system import SetupFailed

ORDERS = Path("/opt/rehearsal/host_setup.json")


def main() -> int:
    """0 where the node is configured, 1 with the reason on standard error otherwise."""
    orders: dict[str, Any] = json.loads(ORDERS.read_text())
    ORDERS.unlink()  # it holds a password
    try:
        mounts.mount_all(orders["mounts"])
        if orders["role"] == "controller":
            accounting.bring_up(orders["controllers"][0], orders["accounting"])
            daemons.start_slurmctld()
        else:
            daemons.start_slurmd(orders["controllers"])
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0
