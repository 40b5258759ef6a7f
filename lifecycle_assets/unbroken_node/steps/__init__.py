"""The steps, in the order in which they run. A step's number says where it stands, and never changes.

Where HyperPod does a step's work itself (`api` mode), a second form of it looks and waits.
"""

from __future__ import annotations

from unbroken_node.step import Step
from unbroken_node.steps import (
    accounting,
    environment,
    home,
    login,
    lustre_client,
    lustre_efa,
    network,
    nvme,
    pam,
    slurm_conf,
    slurmctld,
    slurmd,
    ssh,
    storage,
    training,
    user,
    version,
)

STEPS: tuple[Step, ...] = (
    network.STEP,
    lustre_client.STEP,
    lustre_efa.STEP,
    storage.STEP,
    storage.API_STEP,
    home.STEP,
    home.API_STEP,
    nvme.STEP,
    user.STEP,
    ssh.STEP,
    accounting.STEP,
    accounting.API_STEP,
    slurm_conf.STEP,
    slurmctld.STEP,
    slurmctld.API_STEP,
    slurmd.STEP,
    slurmd.API_STEP,
    login.STEP,
    pam.STEP,
    training.STEP,
    environment.STEP,
    version.STEP,
)

JOB_STEPS: tuple[Step, ...] = (training.STEP, environment.STEP)
"""What a node that runs can do again for a changed job."""
