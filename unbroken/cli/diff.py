"""The verb `diff`: tables of nodes, data and resources, and what `up` would refuse."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator

import typer

from unbroken.cli import output
from unbroken.cli.progress import display
from unbroken.ops.diff import words
from unbroken.ops.diff.run import Diff, diff


def diff_verb(cluster: str | None, target: str, rehearsal: str | None, as_json: bool) -> None:
    """Print it; exit code 1 where `up` would refuse part of it. Errors go to the caller."""
    with display(sys.stderr) as shown:
        found = diff(cluster, target, rehearsal, shown)
    if as_json:
        output.data(json.dumps(words.document(found.plan, found.refusals, found.other_bundle), indent=2))
    else:
        output.data("\n".join(_lines(found)))
    if found.refusals:
        raise typer.Exit(1)


def _lines(found: Diff) -> Iterator[str]:
    plan = found.plan
    if plan.empty:
        yield f"{found.cluster} in {found.region} is as the cluster file says"
        yield from _section("to know", "\n".join(words.of_bundles(found.other_bundle)))
        return
    yield f"what `unbroken up` would do to {found.cluster} in {found.region}"
    yield from _section("nodes", output.table(words.node_rows(plan)))
    yield from _section("data", "\n".join(words.data_lines(plan)))
    yield from _section("resources", "\n".join(words.resource_lines(plan)))
    yield from _section("to know", "\n".join([*words.notes(plan), *words.of_bundles(found.other_bundle)]))
    yield from _section("refused", "\n".join(_refused(found)))


def _section(title: str, text: str) -> Iterator[str]:
    """A title and its indented lines; nothing where there are none."""
    if text:
        yield f"\n{output.styled(title, 'bold', sys.stdout)}"
        for line in text.splitlines():
            yield from _wrapped(line)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, output.width(), initial_indent="  ", subsequent_indent="    ") or [""]


def _refused(found: Diff) -> Iterator[str]:
    for refusal in found.refusals:
        yield f"{refusal.what}: {refusal.why}; {refusal.way_out}"
