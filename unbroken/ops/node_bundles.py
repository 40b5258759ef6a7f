"""With which bundle nodes came up; a changed one reaches new, replaced and software-updated nodes only."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws import AwsError
from unbroken.config import ClusterConfig
from unbroken.ops.controller import on_controller
from unbroken.ops.errors import CannotRun
from unbroken.ops.outputs import Outputs
from unbroken.ops.target import Target


@dataclass(frozen=True)
class OtherBundle:
    """Running nodes that did not come up with the deployed bundle."""

    nodes: list[str] | None
    """By instance id; None where it is unknown."""
    unknown: str = ""
    """Why it is."""


def other_bundle(target: Target, config: ClusterConfig) -> OtherBundle:
    """Ask the controller: the nodes say it on the shared file system, in the lifecycle step 99-version.

    A node that says nothing came up before there was that step.
    """
    folder = f"{config.storage.mount_path}/unbroken"
    script = f"grep -Hs . {folder}/nodes/* || ls {folder} >/dev/null"
    try:
        deployed = Outputs(target.aws, config).get("cluster", "LifecycleUri").rstrip("/").rpartition("/")[2]
        nodes = target.aws.sagemaker.nodes(config.name)
        said = on_controller(target, config, script).splitlines()
    except (CannotRun, AwsError) as error:
        return OtherBundle(None, str(error))
    told = (line.rpartition("/")[2].partition(":") for line in said)
    came_up = {identity: bundle for identity, _, bundle in told}
    running = [node.instance_id for node in nodes if node.status == "Running"]
    return OtherBundle([identity for identity in running if came_up.get(identity) != deployed])
