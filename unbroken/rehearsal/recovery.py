"""The report's view of a fault: what saw it, how long each part of the recovery took, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unbroken.rehearsal.events import Event
from unbroken.rehearsal.losses import split_attempts
from unbroken.rehearsal.report_model import Mark, Recovery

_LABELS = {
    "detected": "failure seen",
    "marked": "marked for replacement",
    "replaced": "replacement ready",
    "resumed": "training goes on",
}


def recoveries(events: Sequence[Event], metrics: Sequence[Mapping[str, Any]], zero: float) -> list[Recovery]:
    """One entry for each fault event, in order; each looks no further than the next fault."""
    faults = [event for event in events if event.source == "fault"]
    ends = [*(event.t for event in faults[1:]), float("inf")][: len(faults)]
    return [_recovery(fault, end, events, metrics, zero) for fault, end in zip(faults, ends, strict=True)]


def _recovery(
    fault: Event, end: float, events: Sequence[Event], metrics: Sequence[Mapping[str, Any]], zero: float
) -> Recovery:
    window = [event for event in events if fault.t <= event.t < end]
    before, after = _around(metrics, fault.t, end)
    action = _find(window, "resume_action")
    return Recovery(
        fault=fault.kind,
        description=str(fault.data.get("description", "")),
        node=fault.subject,
        at_s=round(fault.t - zero, 1),
        step=before,
        detected_s=_seconds(fault, _find(window, "detected", fault.subject)),
        marked_s=_seconds(fault, _find(window, "marked", fault.subject)),
        resume_action=str(action.data.get("action", "")) if action else "",
        replaced_s=_seconds(fault, _find(window, "replaced", fault.subject)),
        resumed_s=round(after["t"] - fault.t, 1) if after else None,
        resumed_from_step=int(after["step"]) if after else None,
        same_job_id=_same_job(events) if after else None,
        steps_lost=max(0, before - int(after["step"]) + 1) if after and before is not None else None,
    )


def _around(
    metrics: Sequence[Mapping[str, Any]], t: float, end: float
) -> tuple[int | None, Mapping[str, Any] | None]:
    """The last step of the attempt that the fault at `t` ended, and the first line of the one after it.

    A step that was under way may be logged after the fault, so the cut is between attempts, not at `t`.
    """
    parts = split_attempts(metrics)
    after = next((part[0] for part in parts if t < part[0]["t"] < end), None)
    begun = [part for part in parts if part[0]["t"] <= t]
    return (int(begun[-1][-1]["step"]) if begun else None), after


def _find(events: Sequence[Event], kind: str, subject: str | None = None) -> Event | None:
    """The first event of the agent of this kind, about the subject if one is given."""
    found = (event for event in events if event.source == "agent" and event.kind == kind)
    return next((event for event in found if subject in (None, event.subject)), None)


def _seconds(fault: Event, event: Event | None) -> float | None:
    return round(event.t - fault.t, 1) if event else None


def _same_job(events: Sequence[Event]) -> bool | None:
    ids = {str(event.data["id"]) for event in events if event.source == "job" and "id" in event.data}
    return len(ids) == 1 if ids else None


def marks(recovery: Sequence[Recovery]) -> list[Mark]:
    """The moments of every recovery, in the order of their times."""
    found = []
    for item in recovery:
        found.append(Mark(kind="fault", at_s=item.at_s, label=item.fault.replace("_", " "), node=item.node))
        for kind in ("detected", "marked", "replaced", "resumed"):
            after = getattr(item, f"{kind}_s")
            if after is not None:
                found.append(
                    Mark(kind=kind, at_s=round(item.at_s + after, 1), label=_LABELS[kind], node=item.node)
                )
    return sorted(found, key=lambda mark: mark.at_s)
