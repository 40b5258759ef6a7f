"""The verb `up`: the plan and the question, progress, and how to connect."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from unbroken.cli import asking, output
from unbroken.cli.progress import display, interruptible
from unbroken.ops.diff import Plan, words
from unbroken.ops.stages import StageFailed
from unbroken.ops.up.run import Request, Up, up


def up_verb(request: Request, *, yes: bool, as_json: bool) -> None:
    """Deploy; the errors of it go to the caller."""

    def agree(plan: Plan) -> None:
        _show(plan)
        if not yes and not plan.empty:
            asking.agreed("\nDeploy this?")

    with display(sys.stderr) as shown, interruptible(shown):
        try:
            result = up(request, shown, agree)
        except StageFailed as error:
            shown.close()
            output.log_end(error.log_name, error.log_lines)
            output.talk()
            raise
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
    output.talk("\n".join(_lines(result)))


def _show(plan: Plan) -> None:
    if plan.empty:
        output.talk("what is deployed is as the cluster file says")
        return
    head = ("GROUP", "TYPE", "NODES", "")
    output.talk(f"\n{output.table([head, *words.node_rows(plan)])}")
    for line in (*words.data_lines(plan), *words.notes(plan)):
        output.talk(line)
    output.talk("what it costs: unbroken cost; every change: unbroken diff")


def _lines(result: Up) -> list[str]:
    head = f"\n{result.cluster} is up in {result.region}{'; to connect:' if result.connect else ''}"
    return [head, *(f"  {command}" for command in result.connect), *_not_reached(result)]


def _not_reached(result: Up) -> Iterator[str]:
    """What of the deployment the nodes that were there before do not have."""
    yield from words.of_bundles(result.other_bundle)
    if result.job and result.job.problem:
        warning = output.styled("warning:", "yellow", sys.stderr)
        yield f"{warning} the controller may not have the deployed job: {result.job.problem}"
        yield "\nRunning `up` again gives it"
        if result.job.command:
            yield f"So does this, in a root shell of the controller:\n  {result.job.command}"
