"""The reduced rehearsal: the real deploy and destroy, and the job on this machine with a rank killed."""

from __future__ import annotations

from unbroken.ops.rehearse import deployment
from unbroken.ops.rehearse.context import Context


def run(context: Context) -> None:
    """Every stage in its order."""
    deployment.start_aws(context)
    deployment.bootstrap(context)
    deployment.deploy(context)
    deployment.destroy(context)
    deployment.look_for_leftovers(context)
    deployment.stop_aws(context)
