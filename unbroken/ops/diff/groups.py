"""What a change of the cluster's instance groups means for its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.ops.diff.changes import differing

REFUSED = ("InstanceType", "ExecutionRole", "OverrideVpcConfig", "ThreadsPerCore")
"""Create-only for a group that exists in an older schema of AWS::SageMaker::Cluster (cfn-lint 1.51); the
present one (1.58) leaves them open, so the service may still refuse them."""
UPDATES = ("ScheduledUpdateConfig", "AutoPatchConfig")


@dataclass(frozen=True)
class GroupChange:
    """One instance group, before and after."""

    name: str
    instance_type: str
    now: int
    """Nodes the service aims at; 0 for a new group."""
    after: int
    """Nodes the file asks for; 0 for a group that goes."""
    properties: tuple[str, ...]
    """What else differs, by CloudFormation's names."""
    fresh: bool = False
    """The cluster itself is made anew, and with it every node."""

    @property
    def added(self) -> int:
        """Nodes that will be started."""
        return self.after if self.fresh else max(0, self.after - self.now)

    @property
    def removed(self) -> int:
        """Nodes that go."""
        return self.now if self.fresh else max(0, self.now - self.after)

    @property
    def kept(self) -> int:
        """Nodes that go on running as they are."""
        return 0 if self.fresh else min(self.now, self.after)

    @property
    def refused(self) -> tuple[str, ...]:
        """Changed properties that the service may refuse for nodes that exist."""
        return tuple(name for name in self.properties if name in REFUSED and not self.fresh)

    @property
    def new_nodes_only(self) -> bool:
        """Whether part of the change reaches new, replaced and software-updated nodes only."""
        return bool(self.kept and set(self.properties) - {*REFUSED, *UPDATES})


def changes(
    old: Mapping[str, Any], new: Mapping[str, Any], targets: Mapping[str, int], fresh: bool
) -> Iterator[GroupChange]:
    """Every group that is in either template's cluster.

    ``targets`` are the counts the service aims at, which differ from the deployed template after a node was
    deleted by id. ``fresh``: the cluster is replaced.
    """
    before, after = _by_name(old), _by_name(new)
    for name in [*after, *(gone for gone in before if gone not in after)]:
        was, will = before.get(name), after.get(name)
        yield GroupChange(
            name=name,
            instance_type=str((will or was or {}).get("InstanceType", "")),
            now=0 if was is None else targets.get(name, int(was["InstanceCount"])),
            after=0 if will is None else int(will["InstanceCount"]),
            properties=() if was is None or will is None else _differing(was, will),
            fresh=fresh and was is not None,
        )


def _differing(was: Mapping[str, Any], will: Mapping[str, Any]) -> tuple[str, ...]:
    names = (path.split(".")[0] for path in differing(was, will))
    return tuple(dict.fromkeys(name for name in names if name != "InstanceCount"))


def _by_name(cluster: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    groups = cluster.get("Properties", {}).get("InstanceGroups", [])
    return {group["InstanceGroupName"]: group for group in groups}
