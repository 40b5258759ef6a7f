"""The log group that HyperPod makes for a cluster's nodes: its retention, its tag, its end.

The service makes the group, so no stack can. It is taken over once it is there, by tag; a group without
the tag is another's and is left alone.
"""

from __future__ import annotations

from unbroken.aws import Aws
from unbroken.aws.logs import LogGroup
from unbroken.config import CLUSTER_TAG, LogsConfig
from unbroken.ops.target import Target


def log_groups(aws: Aws, cluster: str) -> list[LogGroup]:
    """The groups of clusters of this name, one for each such cluster there ever was, the newest last."""
    return aws.logs.groups(f"/aws/sagemaker/Clusters/{cluster}/")


def take_over(target: Target, cluster: str, logs: LogsConfig, since: int) -> LogGroup | None:
    """Tag the present cluster's group and have its lines expire; None where there is no such group yet.

    It is the one named after the cluster's id or, of a cluster that failed and is gone, one made ``since``
    (milliseconds since 1970).
    """
    found = target.aws.sagemaker.cluster(cluster)
    identity = found.id if found else ""
    for group in reversed(log_groups(target.aws, cluster)):
        if group.name.rpartition("/")[2] == identity or (not found and group.created >= since):
            target.aws.logs.tag(group.arn, {CLUSTER_TAG: cluster})
            target.aws.logs.set_retention(group.name, logs.retention_days)
            return group
    return None
