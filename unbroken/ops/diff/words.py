"""A plan in words, and as the JSON of ``unbroken diff --json``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from unbroken.catalog.cloudformation import CLUSTER, FILE_SYSTEM
from unbroken.checks.result import listed
from unbroken.ops.diff.changes import Change
from unbroken.ops.diff.groups import GroupChange
from unbroken.ops.diff.plan import Plan, Refusal, fate, noun
from unbroken.ops.node_bundles import OtherBundle

REACH = "new, replaced and software-updated nodes"


def node_rows(plan: Plan) -> list[tuple[str, str, str, str]]:
    """Group, type, count and what happens to its nodes."""
    return [
        (group.name, group.instance_type, _count(group), ", ".join(_effects(group))) for group in plan.groups
    ]


def _count(group: GroupChange) -> str:
    return str(group.after) if group.now == group.after else f"{group.now} -> {group.after}"


def _effects(group: GroupChange) -> Iterator[str]:
    counts = (("kept", group.kept), ("added", group.added), ("removed", group.removed))
    yield from (f"{count} {word}" for word, count in counts if count)
    if group.fresh:
        yield "the cluster is replaced"
    if group.properties:
        yield f"changed: {', '.join(group.properties)}"


def data_lines(plan: Plan) -> list[str]:
    """What becomes of each thing that holds data."""
    return [f"{noun(change)} {_end(change)}: {fate(change)}" for change in plan.data]


def _end(change: Change) -> str:
    if change.action == "remove":
        return "is removed"
    return f"is replaced, because of {', '.join(change.properties)}"


def resource_lines(plan: Plan) -> list[str]:
    """What happens to which resource, and what differs; for all that is neither cluster nor data."""
    areas = {name.rpartition("-")[2] for name in plan.new_stacks}
    told = (change for change in plan.resources if change not in plan.data and not _of_groups(change))
    return [_line(change) for change in told if change.area not in areas]


def _line(change: Change) -> str:
    what = f"{change.area}: {change.action} {change.logical_id} ({change.type_name})"
    return f"{what} {', '.join(change.properties)}".rstrip()


def _of_groups(change: Change) -> bool:
    """The cluster changed in place is told by its groups."""
    return change.type_name == CLUSTER and change.action == "change"


def notes(plan: Plan) -> list[str]:
    """What a reader should know beside the tables."""
    found = []
    kept = sum(group.kept for group in plan.groups)
    if plan.new_stacks:
        found.append(f"not there yet: {', '.join(plan.new_stacks)}")
    if kept and (plan.bundle_changes or any(group.new_nodes_only for group in plan.groups)):
        found.append(
            f"changed lifecycle files or settings reach {REACH} only; nodes that keep what they have: {kept}"
        )
    if kept and plan.job_changes:
        found.append(
            "the changed job reaches the controller at the end of `unbroken up`; jobs that run keep theirs"
        )
    if kept and any(c.type_name == FILE_SYSTEM and c.action == "replace" for c in plan.data):
        found.append(
            f"nodes that keep the old file system mounted and do not get the new one: {kept}; "
            "`unbroken down` first, then `unbroken up`, makes them anew with it"
        )
    if plan.orphans:
        names = ", ".join(plan.orphans)
        found.append(
            f"the cluster file no longer asks for {names}; a deployment leaves it, `unbroken down` removes it"
        )
    if kept:
        found.append("no change of the cluster file reboots a node; software updates restart and re-image it")
    return found


def of_bundles(found: OtherBundle | None) -> list[str]:
    """Which nodes lack the bundle that is deployed, or that this is unknown; nothing where none do."""
    if found is None or found.nodes == []:
        return []
    if found.nodes is None:
        return [f"whether all nodes came up with the deployed bundle is unknown: {found.unknown}"]
    names = listed(found.nodes)
    return [f"nodes that came up with another bundle than the deployed one: {names}; it reaches {REACH} only"]


def document(plan: Plan, refusals: list[Refusal], other_bundle: OtherBundle | None) -> dict[str, object]:
    """The shape of --json, version 1."""
    return {
        "schema_version": 1,
        "empty": plan.empty,
        "new_stacks": list(plan.new_stacks),
        "orphaned_stacks": list(plan.orphans),
        "groups": [
            {**asdict(group), "added": group.added, "removed": group.removed, "kept": group.kept}
            for group in plan.groups
        ],
        "data": [{"what": noun(c), "action": c.action, "old_stays": c.old_stays} for c in plan.data],
        "resources": [asdict(change) for change in plan.resources],
        "bundle_changes": plan.bundle_changes,
        "job_changes": plan.job_changes,
        "other_bundle": asdict(other_bundle) if other_bundle else None,
        "refusals": [asdict(refusal) for refusal in refusals],
    }
