"""From events and metrics to report.json: a pure function, without a clock, a file or a cluster at hand.

The recovery's figures are in recovery.py, the loss in losses.py, the nodes' lives in lives.py; here they meet
the stages and the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Literal

from unbroken.rehearsal.events import Event
from unbroken.rehearsal.lives import nodes
from unbroken.rehearsal.losses import attempts, loss
from unbroken.rehearsal.recovery import marks, recoveries
from unbroken.rehearsal.report_model import (
    Cluster,
    Failure,
    Job,
    Loss,
    Reality,
    Recovery,
    Report,
    Stage,
)

Metrics = Sequence[Mapping[str, Any]]
"""Lines of run/metrics.jsonl: attempt, step, loss, t (seconds since the epoch) and more."""


def build(events: Sequence[Event], metrics: Metrics) -> Report:
    """The report of one rehearsal; ValueError for events that hold no `rehearse/begin`."""
    begin = _first(events, "rehearse", "begin")
    if begin is None:
        raise ValueError("the events hold no beginning of a rehearsal")
    end = events[-1].t
    stages = _stages(events, begin.t)
    failure = _failure(events)
    recovery = recoveries(events, metrics, begin.t)
    losses = loss(metrics)
    leftovers, kept = _leftovers(events)
    job = _job(events, metrics, begin.t)
    problems = _problems(begin, failure, stages, recovery, losses, leftovers, job)
    verdict: Literal["passed", "failed"] = "failed" if problems else "passed"
    return Report(
        verdict=verdict,
        mode=begin.data["mode"],
        headline=_headline(begin.data["mode"], failure, problems),
        problems=problems,
        id=begin.subject,
        started=datetime.fromtimestamp(begin.t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(end - begin.t, 1),
        cluster=Cluster.model_validate(begin.data["cluster"]),
        failure=failure,
        stages=stages,
        nodes=nodes(events, begin.t, [group["name"] for group in begin.data["cluster"].get("groups", [])]),
        marks=marks(recovery),
        job=job,
        recovery=recovery,
        loss=losses,
        destroyed=_first(events, "rehearse", "leftovers") is not None,
        leftovers=leftovers,
        kept=kept,
        versions=_versions(begin, events),
        reality=_reality(begin, events),
        **{key: begin.data[key] for key in ("ledger", "overlay") if key in begin.data},
    )


def _reality(begin: Event, events: Sequence[Event]) -> Reality:
    """What was said at the beginning, and what was made in place of the user's own."""
    known = Reality.model_validate(begin.data.get("reality", {}))
    brought = _first(events, "aws", "brought")
    if brought is None:
        return known
    words = f"stand-ins for what the cluster file brings along: {', '.join(brought.data['parts'])}"
    return known.model_copy(update={"emulated": [*known.emulated, words]})


def _versions(begin: Event, events: Sequence[Event]) -> dict[str, str]:
    """What this machine knew at the beginning, and what the nodes said later."""
    later = _first(events, "rehearse", "versions")
    return {**begin.data.get("versions", {}), **(later.data if later else {})}


def _first(events: Sequence[Event], source: str, kind: str) -> Event | None:
    return next((event for event in events if (event.source, event.kind) == (source, kind)), None)


def _stages(events: Sequence[Event], zero: float) -> list[Stage]:
    """Every stage that began; one that never ended counts as failed, at the time of the last event."""
    marks = [event for event in events if (event.source, event.kind) == ("rehearse", "stage")]
    ends = {event.subject: event for event in marks if event.data["state"] == "end"}
    stages = []
    for event in marks:
        if event.data["state"] != "start":
            continue
        end = ends.get(event.subject)
        stages.append(
            Stage(
                name=event.subject,
                title=event.data.get("title", event.subject),
                start_s=round(event.t - zero, 1),
                seconds=round(end.data["seconds"] if end else events[-1].t - event.t, 1),
                ok=bool(end and end.data["ok"]),
            )
        )
    return stages


def _failure(events: Sequence[Event]) -> Failure | None:
    event = _first(events, "rehearse", "failure")
    return Failure(stage=event.subject, **event.data) if event else None


def _leftovers(events: Sequence[Event]) -> tuple[list[str], list[str]]:
    event = _first(events, "rehearse", "leftovers")
    return (event.data["leftovers"], event.data["kept"]) if event else ([], [])


def _job(events: Sequence[Event], metrics: Metrics, zero: float) -> Job:
    states = [event for event in events if event.source == "job" and event.kind in ("submitted", "state")]
    last = states[-1].data if states else {}
    first = states[0].data if states else {}
    return Job(
        id=str(first.get("id", "")), state=str(last.get("state", "")), attempts=attempts(metrics, zero)
    )


def _problems(
    begin: Event,
    failure: Failure | None,
    stages: Sequence[Stage],
    recovery: Sequence[Recovery],
    losses: Loss,
    leftovers: Sequence[str],
    job: Job,
) -> list[str]:
    """Why the rehearsal did not pass; a failed stage is said once, by the failure that ended it."""
    if failure:
        return [f"{failure.stage}: {failure.message}"]
    problems = [f"the stage '{stage.title}' did not end well" for stage in stages if not stage.ok]
    problems += [problem for item in recovery for problem in _recovery_problems(item)]
    if begin.data.get("fault", "none") != "none" and not recovery:
        problems.append("no fault was injected")
    if losses.matches_undisturbed is False:
        problems.append("steps done again after the fault gave another loss than before it")
    if job.state != "COMPLETED":
        problems.append(f"the job ended as {job.state or 'unknown'}")
    problems += [f"left behind: {item}" for item in leftovers]
    return problems


def _recovery_problems(item: Recovery) -> list[str]:
    problems = []
    if item.resumed_s is None:
        problems.append(f"training never went on after {item.fault} on {item.node}")
    if item.same_job_id is False:
        problems.append(f"after {item.fault} on {item.node} the job had another id")
    return problems


def _headline(mode: str, failure: Failure | None, problems: Sequence[str]) -> str:
    if failure:
        return f"Rehearsal failed: {failure.stage}"
    if problems:
        return "Rehearsal failed"
    return "Rehearsal passed" if mode == "full" else "Rehearsal passed, reduced"
