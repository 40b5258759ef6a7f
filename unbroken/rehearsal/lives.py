"""The report's view of the nodes: what each was doing, as the emulated service and the bundle's log say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from unbroken.rehearsal.events import Event
from unbroken.rehearsal.report_model import LifecycleStep, Node, Span

ENDED = frozenset({"Deleted", "NotFound"})
"""Statuses after which there is no node to show."""


def nodes(events: Sequence[Event], zero: float) -> list[Node]:
    """Every node that appeared, in the order of appearance."""
    statuses = [event for event in events if (event.source, event.kind) == ("hyperpod", "instance_status")]
    names = list(dict.fromkeys(event.subject for event in statuses))
    return [_node(name, events, statuses, zero) for name in names]


def _node(name: str, events: Sequence[Event], statuses: Sequence[Event], zero: float) -> Node:
    own = [event for event in statuses if event.subject == name]
    group = next((str(event.data["group"]) for event in own if event.data.get("group")), "")
    return Node(
        name=name,
        group=group,
        spans=_spans(own, events[-1].t, zero),
        lifecycle=_lifecycle(name, events, zero),
    )


def _spans(statuses: Sequence[Event], end: float, zero: float) -> list[Span]:
    """A span from each status to the next; the last one reaches to the end of the events."""
    closed = list(pairwise([event.t for event in statuses] + [end]))
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
    return [
        LifecycleStep(
            step=str(event.data.get("step", "")),
            result=str(event.data.get("result", "")),
            seconds=float(event.data.get("seconds") or 0),
            at_s=round(event.t - zero, 1),
        )
        for event in own
    ]
