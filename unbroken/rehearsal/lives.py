"""The report's view of the nodes: what each was doing, as the emulated service and the bundle's log say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from unbroken.rehearsal.events import Event
from unbroken.rehearsal.report_model import LifecycleStep, Node, Span

ENDED = frozenset({"Deleted", "NotFound"})
"""Statuses after which there is no node to show."""


def nodes(events: Sequence[Event], zero: float, groups: Sequence[str]) -> list[Node]:
    """Every node that appeared, by the cluster's order of groups, then by name."""
    statuses = [event for event in events if (event.source, event.kind) == ("hyperpod", "instance_status")]
    names = dict.fromkeys(event.subject for event in statuses)
    found = [_node(name, events, statuses, zero) for name in names]
    order = {name: index for index, name in enumerate(groups)}
    return sorted(found, key=lambda node: (order.get(node.group, len(order)), _numbers(node.name)))


def _numbers(name: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", name)]


def _node(name: str, events: Sequence[Event], statuses: Sequence[Event], zero: float) -> Node:
    own = [event for event in statuses if event.subject == name]
    group = next((str(event.data["group"]) for event in own if event.data.get("group")), "")
    return Node(
        name=name,
        group=group,
        spans=[*_beginning(own[0], events, zero), *_spans(own, _end(own, events), zero)],
        lifecycle=_lifecycle(name, events, zero),
    )


def _beginning(first: Event, events: Sequence[Event], zero: float) -> list[Span]:
    """A new instance is Pending without being told; its life began with its cluster's last change."""
    if first.data.get("status") == "Pending":
        return []
    changes = [e.t for e in events if (e.source, e.kind) == ("hyperpod", "cluster_status") and e.t < first.t]
    if not changes:
        return []
    return [
        Span(
            status="Pending",
            start_s=round(changes[-1] - zero, 1),
            end_s=round(first.t - zero, 1),
            instance_id=str(first.data.get("instance_id", "")),
        )
    ]


def _end(own: Sequence[Event], events: Sequence[Event]) -> float:
    """When the node's last status ended: with its cluster, else with the events."""
    gone = [e.t for e in events if e.kind == "cluster_status" and e.data.get("status") in ENDED]
    return next((t for t in gone if t >= own[-1].t), events[-1].t)


def _spans(statuses: Sequence[Event], end: float, zero: float) -> list[Span]:
    """A span from each status to the next; the last one reaches to the end of the events."""
    closed = list(pairwise([*(event.t for event in statuses), end]))
    return [
        Span(
            status=str(event.data.get("status", "")),
            start_s=round(start - zero, 1),
            end_s=round(stop - zero, 1),
            instance_id=str(event.data.get("instance_id", "")),
            message=str(event.data.get("message") or ""),
        )
        for event, (start, stop) in zip(statuses, closed, strict=True)
        if event.data.get("status") not in ENDED
    ]


def _lifecycle(name: str, events: Sequence[Event], zero: float) -> list[LifecycleStep]:
    own = (e for e in events if (e.source, e.kind, e.subject) == ("node", "lifecycle", name))
    # The log may be shipped twice, as a file and as the script's output.
    told = {(e.data.get("step"), e.data.get("start"), e.data.get("result")): e for e in own}
    return [
        LifecycleStep(
            step=str(event.data.get("step", "")),
            result=str(event.data.get("result", "")),
            seconds=float(event.data.get("seconds") or 0),
            at_s=round(event.t - zero, 1),
        )
        for event in told.values()
    ]
