"""Taking down a cluster's stacks, one after another, each after what has to come before it."""

from __future__ import annotations

from collections.abc import Sequence

from unbroken.catalog.cloudformation import FILE_SYSTEM, LOG_GROUP
from unbroken.config import CLUSTER_TAG, ClusterConfig
from unbroken.ops.down.exports import drain, exporting
from unbroken.ops.down.parts import Part
from unbroken.ops.down.stays import Stay, stay, stays
from unbroken.ops.nodes_log import log_groups
from unbroken.ops.remove_stack import guard, remove
from unbroken.ops.stack_progress import Told
from unbroken.ops.target import Target


def take_down(
    target: Target, config: ClusterConfig, found: Sequence[Part], told: Told, *, skip_exports: bool = False
) -> list[Stay]:
    """Delete the stacks; what stays. CannotRun where one is protected, CheckFailed for one that stays."""
    for part in found:
        guard(target, config.name, part.stack)
    left = stays(found, target.region)
    for part in found:
        for file_system in [] if skip_exports else exporting(target, part):
            drain(target, file_system, told)
        _without_backup(target, part)
        remove(target, config.name, part.stack, told)
        told(f"stack {part.stack.name} is deleted")
    return [*left, *_end_logs(target, config, told)]


def _without_backup(target: Target, part: Part) -> None:
    """CloudFormation would have FSx make a last backup of an OpenZFS file system; that stays and costs."""
    for resource in part.deleted(FILE_SYSTEM):
        found = target.aws.fsx.file_system(resource.physical_id)
        if found and found.kind == "OPENZFS" and found.state != "DELETING":
            target.aws.fsx.delete_openzfs(resource.physical_id)


def _end_logs(target: Target, config: ClusterConfig, told: Told) -> list[Stay]:
    """Delete the nodes' logs or keep them, as the cluster file says; those of others are left alone."""
    left = []
    for group in log_groups(target.aws, config.name):
        if target.aws.logs.tags(group.arn).get(CLUSTER_TAG) != config.name:
            why = f"it lacks the tag {CLUSTER_TAG}={config.name}, so it may be another's"
            left.append(stay(LOG_GROUP, group.name, target.region, why))
        elif config.logs.deletion == "delete":
            target.aws.logs.delete(group.name)
            told(f"log group {group.name} is deleted")
        else:
            days = group.retention_days
            why = f"the cluster file keeps it; lines expire after {days} days" if days else "it is kept"
            left.append(stay(LOG_GROUP, group.name, target.region, why))
    return left
