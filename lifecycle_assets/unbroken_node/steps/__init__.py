"""The steps, in the order in which they run. A step's number says where it stands, and never changes."""

from __future__ import annotations

from unbroken_node.step import Step
from unbroken_node.steps import (
    accounting,
    login,
    network,
    nvme,
    slurmctld,
    slurmd,
    ssh,
    storage,
    training,
    user,
)

STEPS: tuple[Step, ...] = (
    network.STEP,
    storage.STEP,
    nvme.STEP,
    user.STEP,
    ssh.STEP,
    accounting.STEP,
    slurmctld.STEP,
    slurmd.STEP,
    login.STEP,
    training.STEP,
)
