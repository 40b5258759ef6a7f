"""Named nodes taken out of a cluster: drained in Slurm, so that no job is cut off, then deleted by their ids.

HyperPod chooses which nodes go when a group's count is lowered; deleting by id is the only way to choose.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from unbroken.config import ClusterConfig
from unbroken.ops.controller import on_controller
from unbroken.ops.errors import CannotRun
from unbroken.ops.stack_progress import Told
from unbroken.ops.target import Target

REASON = "unbroken: taken out"
DRAIN_SECONDS = 900.0
DELETE_SECONDS = 1800.0
_EMPTY = ("drained", "down", "fail", "unknown")
"""How Slurm's states of nodes begin that run nothing."""


def remove_nodes(target: Target, config: ClusterConfig, ids: Sequence[str], told: Told) -> None:
    """Drain and delete. CannotRun where a node still works after a quarter of an hour, or HyperPod refuses.

    What was drained by then stays drained, and nothing else has been done.
    """
    names = {identity: _slurm_name(target, config, identity) for identity in ids}
    for identity, name in names.items():
        if name:
            _drain(target, config, name)
        told(f"{identity}: {'draining ' + name if name else 'Slurm does not know it'}")
    _wait_until_empty(target, config, [name for name in names.values() if name])
    refused = target.aws.sagemaker.delete_nodes(config.name, ids)
    if refused:
        reasons = "; ".join(f"{identity}: {why}" for identity, why in refused.items())
        raise CannotRun(f"HyperPod did not delete every node: {reasons}", "the others are on their way out")
    _wait_until_gone(target, config.name, ids)
    told(f"deleted {', '.join(ids)}")


def _slurm_name(target: Target, config: ClusterConfig, identity: str) -> str:
    """Slurm's name of a node, found by its address; empty where Slurm has none with it."""
    address = target.aws.sagemaker.address(config.name, identity)
    for line in on_controller(target, config, "scontrol -o show nodes").splitlines():
        fields = dict(word.partition("=")[::2] for word in line.split())
        if address in (fields.get("NodeAddr"), fields.get("NodeHostName")):
            return fields["NodeName"]
    return ""


def _drain(target: Target, config: ClusterConfig, name: str) -> None:
    change = f"nodename={name} state=drain reason={shlex.quote(REASON)}"
    on_controller(target, config, f"scontrol update {change}")


def _wait_until_empty(target: Target, config: ClusterConfig, names: Sequence[str]) -> None:
    start = target.pace.now()
    while busy := [name for name, state in _states(target, config, names).items() if not _empty(state)]:
        if target.pace.now() - start > DRAIN_SECONDS:
            raise CannotRun(
                f"jobs still run on {', '.join(busy)}, which take no new ones",
                "wait or scancel them, then run this again; scontrol update state=resume takes it back",
            )
        target.pace.wait()


def _states(target: Target, config: ClusterConfig, names: Sequence[str]) -> Mapping[str, str]:
    if not names:
        return {}
    said = on_controller(target, config, f"sinfo -h -N -o '%N %T' -n {shlex.quote(','.join(names))}")
    return dict(line.split()[:2] for line in said.splitlines() if line.strip())


def _empty(state: str) -> bool:
    return state.startswith(_EMPTY)


def _wait_until_gone(target: Target, cluster: str, ids: Sequence[str]) -> None:
    start = target.pace.now()
    while left := {node.instance_id for node in target.aws.sagemaker.nodes(cluster)} & set(ids):
        if target.pace.now() - start > DELETE_SECONDS:
            raise CannotRun(f"{', '.join(sorted(left))} still listed after {DELETE_SECONDS:.0f} s")
        target.pace.wait()
