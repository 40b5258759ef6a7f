"""Deploying an assembly with the real cdk CLI, followed in AWS; what failed is told by its cause."""

from __future__ import annotations

import sys

from unbroken.aws import AwsError
from unbroken.config import ClusterConfig
from unbroken.ops.cdk import Cdk
from unbroken.ops.nodes_log import take_over
from unbroken.ops.stack_progress import Told
from unbroken.ops.stages import StageFailed
from unbroken.ops.synth import Assembly
from unbroken.ops.target import Target
from unbroken.ops.up.cause import cause
from unbroken.ops.up.standing import clear, standing
from unbroken.ops.up.watch import Watch


def deploy(target: Target, cdk: Cdk, assembly: Assembly, config: ClusterConfig, told: Told) -> Watch:
    """Deploy every stack. CannotRun where one is in no state for it, StageFailed with the real cause."""
    names = [assembly.stack_name(area) for area in assembly.areas]
    clear(target, config.name, standing(target, config.name, names, told), told)
    watch = Watch(target, config.name, names, told)
    try:
        cdk.deploy(assembly.folder, watch.done, watch.look)
    except StageFailed as error:
        raise cause(watch, target.aws, error) from error
    finally:
        _keep_no_log_for_ever(target, config, watch, told)
    return watch


def _keep_no_log_for_ever(target: Target, config: ClusterConfig, watch: Watch, told: Told) -> None:
    """Also after a failure: the service has made the nodes' log group by then, without retention."""
    try:
        group = take_over(target, config.name, config.logs, watch.lifecycle.began or sys.maxsize)
    except AwsError as error:
        told(f"the retention of the nodes' log group could not be set: {error}")
        return
    if group:
        told(f"lines of {group.name} are kept for {config.logs.retention_days} days")
