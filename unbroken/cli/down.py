"""The verb `down`: what would go, the question, progress, and what stays."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from unbroken.checks.result import counted
from unbroken.cli import asking, output
from unbroken.cli.progress import display, interruptible
from unbroken.ops.down.run import Down, Intent, Request, down


def down_verb(request: Request, *, yes: bool, as_json: bool) -> None:
    """Take down; the errors of it go to the caller."""

    def agree(intent: Intent) -> None:
        output.talk("\n".join(_intent(intent)))
        if not yes:
            asking.typed(f"\nType {intent.config.name} to take it down", intent.config.name)

    with display(sys.stderr) as shown, interruptible(shown):
        result = down(request, shown, agree)
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
    output.talk("\n".join(_lines(result)))


def _intent(intent: Intent) -> Iterator[str]:
    yield f"\n{intent.config.name} in {intent.config.region} is taken down, in this order:"
    for part in intent.parts:
        yield f"  stack {part.stack.name} ({counted(len(part.resources), 'resource')})"
    if intent.jobs is None:
        yield f"whether jobs run is unknown: {intent.jobs_unknown}"
    elif intent.jobs:
        yield "these jobs end with it:"
        yield from (f"  {job}" for job in intent.jobs)
    if intent.stays:
        yield "what stays:"
        yield from (f"  {one.kind} {one.identity}" for one in intent.stays)


def _lines(result: Down) -> list[str]:
    if not result.deleted:
        nothing = f"nothing of {result.cluster} is deployed in {result.region}"
        return [nothing, *_stays(result)]
    return [f"\n{result.cluster} is gone: {counted(len(result.deleted), 'stack')} deleted", *_stays(result)]


def _stays(result: Down) -> Iterator[str]:
    if not result.stays:
        yield "nothing of it stays" if result.deleted else "what an earlier end kept is not known here"
        return
    yield "what stays, what it costs, and how to remove it:"
    for one in result.stays:
        yield f"  {one.kind} {one.identity}: {one.why}; costs: {result.costs.get(one.kind, 'unknown')}"
        yield from (f"    {command}" for command in one.remove)
