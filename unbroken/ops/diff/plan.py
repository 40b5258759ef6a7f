"""The plan of a deployment: what it makes, changes and ends, and what `up` does not do unasked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbroken.aws import Aws
from unbroken.aws.sagemaker import Node
from unbroken.catalog import cloudformation
from unbroken.catalog.cloudformation import CLUSTER, HOLDS_DATA
from unbroken.checks.result import counted
from unbroken.ops.diff import changes, file_systems, groups, replacement
from unbroken.ops.diff.changes import Change, Versions
from unbroken.ops.diff.groups import GroupChange
from unbroken.ops.stack_progress import own
from unbroken.ops.synth import Assembly

UPLOADS = "Custom::CDKBucketDeployment"
PREFIX = "DestinationBucketKeyPrefix"


@dataclass(frozen=True)
class Refusal:
    """Something `up` does not do as asked: what, why, and one way out."""

    what: str
    why: str
    way_out: str


@dataclass(frozen=True)
class Plan:
    """What a deployment of the assembly would do."""

    new_stacks: tuple[str, ...]
    """Stacks that do not exist yet."""
    orphans: tuple[str, ...]
    """Stacks of this cluster that the file no longer asks for; a deployment leaves them as they are."""
    resources: tuple[Change, ...]
    """Every resource that differs, in deployment order."""
    groups: tuple[GroupChange, ...]
    """Every instance group."""
    nodes: tuple[Node, ...]
    """The nodes there are."""
    bundle_changes: bool
    """Whether nodes started from now on get other lifecycle files."""
    job_changes: bool = False
    """Whether the job's code, files or settings differ."""
    refused_by_fsx: tuple[Refusal, ...] = ()
    """Changes of file systems that FSx does not make, replacement allowed or not."""

    @property
    def empty(self) -> bool:
        """Whether a deployment would do nothing."""
        return not (self.new_stacks or self.resources or any(g.added or g.removed for g in self.groups))

    @property
    def data(self) -> list[Change]:
        """What holds data and is removed or replaced."""
        return [c for c in self.resources if c.type_name in HOLDS_DATA and c.action in ("remove", "replace")]

    @property
    def replaced(self) -> list[Change]:
        """Everything that is made anew."""
        return [change for change in self.resources if change.action == "replace"]

    @property
    def lowered(self) -> list[GroupChange]:
        """Groups that go on with fewer nodes."""
        return [group for group in self.groups if group.removed and group.after and not group.fresh]

    def refusals(self, allow_replace: bool = False, removed: Sequence[str] = ()) -> list[Refusal]:
        """What `up` refuses, given --allow-replace and the instance ids of --remove."""
        of_groups = [*self._refused_groups(), *self._unnamed_nodes(removed), *self._unknown_nodes(removed)]
        found = [*self.refused_by_fsx, *of_groups]
        return found if allow_replace else [*self._replacements(), *found]

    def _replacements(self) -> Iterator[Refusal]:
        for change in self.resources:
            if change.action == "replace" and (change.type_name in HOLDS_DATA or change.type_name == CLUSTER):
                yield Refusal(
                    f"{noun(change)} would be replaced",
                    f"{', '.join(change.properties)} cannot be changed in place; {fate(change)}",
                    "undo the change in the cluster file, or say --allow-replace",
                )
            elif change.action == "remove" and change.type_name in HOLDS_DATA and not change.old_stays:
                way_out = "put it back into the cluster file, or say --allow-replace"
                yield Refusal(f"{noun(change)} would be deleted", fate(change), way_out)

    def _refused_groups(self) -> Iterator[Refusal]:
        for group in self.groups:
            if group.refused:
                yield Refusal(
                    f"{', '.join(group.refused)} of group {group.name} would change",
                    "HyperPod does not change it for a group that has nodes",
                    "add a group with another name, move the work there, then remove this one",
                )

    def _unnamed_nodes(self, removed: Sequence[str]) -> Iterator[Refusal]:
        named = Counter(node.group for node in self.nodes if node.instance_id in removed)
        for group in self.lowered:
            if named[group.name] != group.removed:
                ids = [node.instance_id for node in self.nodes if node.group == group.name]
                yield Refusal(
                    f"group {group.name} would go from {group.now} to {counted(group.after, 'node')}",
                    f"{named[group.name]} of {group.removed} are named, and HyperPod would choose the rest",
                    f"name them with --remove; in the group: {', '.join(ids) or 'no node that is known'}",
                )

    def _unknown_nodes(self, removed: Sequence[str]) -> Iterator[Refusal]:
        lowered = {group.name for group in self.lowered}
        there = {node.instance_id: node.group for node in self.nodes}
        way_out = f"its nodes are {', '.join(there) or 'unknown'}"
        for identity in removed:
            if identity not in there:
                yield Refusal(f"--remove {identity}", "the cluster has no such node", way_out)
            elif there[identity] not in lowered:
                why = f"group {there[identity]} does not get fewer nodes"
                yield Refusal(f"--remove {identity}", why, "lower its num_instances in the cluster file")


def noun(change: Change) -> str:
    """``the file system FileSystem (storage)``."""
    return f"the {cloudformation.noun(change.type_name)} {change.logical_id} ({change.area})"


def fate(change: Change) -> str:
    """What becomes of what it holds."""
    if change.type_name == CLUSTER:
        return "every node is ended and started anew; what is only on their disks is lost"
    if change.action == "replace":
        return (
            "the old one stays, and a new, empty one takes its place"
            if change.old_stays
            else "its data is lost"
        )
    return "it stays, without a stack" if change.old_stays else "its data is lost"


def plan(aws: Aws, assembly: Assembly, cluster: str) -> Plan:
    """Compare the assembly with what is deployed. Raises AwsError where AWS cannot be asked."""
    names = {assembly.stack_name(area): area for area in assembly.areas}
    there = [stack for stack in own(aws, cluster) if not (stack.empty or stack.never_made)]
    deployed = {names[stack.name]: stack for stack in there if stack.name in names}
    old = {area: aws.cloudformation.template(stack.name) for area, stack in deployed.items()}
    versions = Versions(old, {area: assembly.template(area) for area in assembly.areas}, names)
    resources = compare(versions)
    service = aws.sagemaker.cluster(cluster)
    targets = {group.name: group.target for group in service.groups} if service else {}
    fresh = any(change.type_name == CLUSTER and change.action == "replace" for change in resources)
    return Plan(
        new_stacks=tuple(name for name, area in names.items() if area not in deployed),
        orphans=tuple(stack.name for stack in there if stack.name not in names),
        resources=tuple(resources),
        groups=tuple(groups.changes(_cluster(versions.old), _cluster(versions.new), targets, fresh)),
        nodes=tuple(aws.sagemaker.nodes(cluster) if service else ()),
        bundle_changes=_moves(resources, "UploadsBundle"),
        job_changes=_moves(resources, "UploadsTrainingCode"),
        refused_by_fsx=tuple(Refusal(*told) for told in file_systems.refused(versions, resources)),
    )


def _moves(resources: Sequence[Change], upload: str) -> bool:
    """Whether an upload is new or goes to another prefix, which is named by the content."""
    found = [c for c in resources if c.type_name == UPLOADS and c.logical_id.startswith(upload)]
    return any(change.action != "change" or PREFIX in change.properties for change in found)


def compare(versions: Versions) -> list[Change]:
    """Every resource that differs."""
    changed = list(changes.changed(versions))
    replaced = replacement.replaced(versions, changed)
    in_place = [change for change in changed if change.key not in replaced]
    found = [*changes.added(versions), *changes.removed(versions), *in_place, *replaced.values()]
    order = {area: index for index, area in enumerate([*versions.new, *versions.old])}
    return sorted(found, key=lambda change: (order[change.area], change.logical_id))


def _cluster(templates: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    for template in templates.values():
        for body in template.get("Resources", {}).values():
            if body["Type"] == CLUSTER:
                found: Mapping[str, Any] = body
                return found
    return {}
