"""The verb `up`: the plan and the question, progress, and how to connect."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import typer

from unbroken.cli import asking, output
from unbroken.cli.progress import display
from unbroken.ops.diff import Plan, words
from unbroken.ops.interrupts import Interrupted
from unbroken.ops.stages import StageFailed
from unbroken.ops.up.run import Request, Up, up


def up_verb(request: Request, *, yes: bool, as_json: bool) -> None:
    """Deploy; the errors of it go to the caller."""

    def agree(plan: Plan) -> None:
        _show(plan)
        if not yes and not plan.empty:
            asking.agreed("\nDeploy this?")

    with display(sys.stderr) as shown:
        try:
            result = up(request, shown, agree)
        except StageFailed as error:
            shown.close()
            output.log_end(error.log_name, error.log_lines)
            output.talk()
            raise
        except Interrupted as error:
            shown.close()
            tell_interrupted(error)
            raise typer.Exit(error.exit_code) from None
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
    output.talk("\n".join(_lines(result)))


def tell_interrupted(error: Interrupted) -> None:
    """What goes on although the user stopped us."""
    output.talk("\n".join(["interrupted", *error.explanation]))


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
    lines = [f"\n{result.cluster} is up in {result.region}; to connect:"]
    return [*lines, *(f"  {command}" for command in result.connect)]
