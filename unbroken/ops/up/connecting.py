"""How to get onto the cluster once it is up."""

from __future__ import annotations

from unbroken.config import ClusterConfig
from unbroken.ops.target import Target


def commands(target: Target, config: ClusterConfig) -> list[str]:
    """Commands that open a shell, one for the controller and one for each login group's first node.

    None for a cluster whose nodes are on paper.
    """
    if not target.real:
        return ["unbroken connect controller"] if target.nodes else []
    cluster = target.aws.sagemaker.cluster(config.name)
    if cluster is None:
        return []
    groups = [config.controller_group.name, *(group.name for group in config.login_groups)]
    first = {node.group: node.instance_id for node in reversed(target.aws.sagemaker.nodes(config.name))}
    targets = [cluster.session_target(group, first[group]) for group in groups if group in first]
    return [f"aws ssm start-session --target {one} --region {target.region}" for one in targets]
