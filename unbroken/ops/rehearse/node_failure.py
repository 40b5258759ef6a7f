"""Why a node did not come up, in its own words: what the service's general message leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from unbroken.ops.rehearse.places import Places
from unbroken.ops.stages import StageFailed
from unbroken.rehearsal.events import Event, read
from unbroken.rehearsal.hyperpod import messages

_STEP_WORDS = ("step", "result", "error")


def node_failure(places: Places, since: float = 0.0) -> StageFailed | None:
    """The first node whose boot failed from `since` on (Unix seconds), with its log; None if none did."""
    events = [event for event in read(places.events) if event.t >= since]
    found = _failed_step(events) or _failed_boot(events)
    if found is None:
        return None
    node, message = found
    said = dict.fromkeys(line for line in _log(events, node) if line)
    return StageFailed(message, f"its whole log is in {places.out / 'events.jsonl'}", "\n".join(said))


def _failed_step(events: Sequence[Event]) -> tuple[str, str] | None:
    """The node on which a lifecycle step said that it failed."""
    for event in events:
        if (event.source, event.kind) == ("node", "lifecycle") and event.data.get("result") == "failed":
            step, error = event.data.get("step"), event.data.get("error", "no message")
            return event.subject, f"lifecycle step {step} failed on {event.subject}: {error}"
    return None


def _failed_boot(events: Sequence[Event]) -> tuple[str, str] | None:
    """The node that the service gave up, where no step was reached or none said so."""
    for event in events:
        message = str(event.data.get("message", ""))
        if event.kind != "instance_status" or event.data.get("status") != "Failure":
            continue
        if message == messages.UNREACHABLE:  # a node that was up and died
            continue
        if message == messages.LIFECYCLE_FAILED:
            message = next(reversed(_log(events, event.subject)), message)
        return event.subject, f"{event.subject} did not come up: {message}"
    return None


def _log(events: Sequence[Event], node: str) -> list[str]:
    """A node's lifecycle log: lines as they are, steps as words."""
    own = [event for event in events if event.source == "node" and event.subject == node]
    return [_words(event) for event in own if event.kind in ("lifecycle", "lifecycle_line")]


def _words(event: Event) -> str:
    if event.kind == "lifecycle_line":
        return str(event.data.get("line", ""))
    return "  ".join(str(event.data[word]) for word in _STEP_WORDS if event.data.get(word))
