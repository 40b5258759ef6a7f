"""The verb `preflight`: a line for what passed, question, finding and way out for what did not."""

from __future__ import annotations

import gc
import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import typer

from unbroken.checks.result import LeftOut, Result, Verdict
from unbroken.cli import output
from unbroken.cli.progress import display, interruptible
from unbroken.ops.preflight.report import OFFLINE, Report
from unbroken.ops.preflight.run import Request, preflight, rehearsed, worth_rehearsing

_COLOURS = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.UNKNOWN: "yellow"}
_ID_WIDTH = 28
_INDENT = 11


def preflight_verb(
    request: Request, *, allow_unknown: bool, rehearse: bool, out: Path, as_json: bool
) -> None:
    """Print the results and end with the exit code they mean."""
    with display(sys.stderr) as shown:
        with _uncollected():
            report = preflight(request, shown)
        if not as_json:
            shown.close()
            output.data("\n".join(_lines(report)))
    if rehearse:
        report = _with_rehearsal(report, out, as_json)
    if as_json:
        output.data(json.dumps(report.document(), indent=2))
    output.talk("\n" + _summary(report, allow_unknown))
    raise typer.Exit(report.exit_code(allow_unknown))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which takes a quarter of these few seconds and frees next to nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _with_rehearsal(report: Report, out: Path, as_json: bool) -> Report:
    if not worth_rehearsing(report):
        output.talk("\nno rehearsal: the file or what is made of it did not pass")
        return report
    output.talk()
    with display(sys.stderr) as shown, interruptible(shown):
        result = rehearsed(report.cluster_file, out, shown)
    if not as_json:
        output.data("\n".join(["", result.area, *_result(result)]))
    return report.with_result(result)


def _lines(report: Report) -> Iterator[str]:
    for area, results in groupby(report.results, lambda result: result.area):
        yield f"\n{output.styled(area, 'bold', sys.stdout)}"
        for result in results:
            yield from _result(result)
    if report.readable:
        yield from _not_run(report.left_out)


def _result(result: Result) -> Iterator[str]:
    """One line for PASS; what was asked, what was found and a way out for the others."""
    word = output.styled(f"{result.verdict.value:7}", _COLOURS[result.verdict], sys.stdout)
    head = f"  {word}  {result.id:{_ID_WIDTH}}"
    if result.verdict is Verdict.PASS:
        yield f"{head} {result.outcome.found}"
        return
    yield head.rstrip()
    parts = (("asked", result.asked), ("found", result.outcome.found), ("fix", result.outcome.fix))
    for name, text in parts:
        for index, line in enumerate(text.splitlines()):
            yield from _wrapped(f"{name if index == 0 else '':5}  {line}")


def _wrapped(text: str) -> list[str]:
    return _filled(text, _INDENT, _INDENT + 7)


def _filled(text: str, first: int, others: int) -> list[str]:
    """Within the width; names of checks are not broken at their hyphens."""
    return textwrap.wrap(
        text,
        output.width(),
        initial_indent=" " * first,
        subsequent_indent=" " * others,
        break_on_hyphens=False,
    )


def _not_run(left_out: tuple[LeftOut, ...]) -> Iterator[str]:
    """By reason, each with the checks it keeps from running."""
    if left_out:
        yield f"\n{output.styled('not run', 'bold', sys.stdout)}"
    for reason in dict.fromkeys(one.reason for one in left_out):
        ids = [one.id for one in left_out if one.reason == reason]
        yield from _filled(f"{reason}: {', '.join(ids)}", 2, 4)


def _summary(report: Report, allow_unknown: bool) -> str:
    """The counts, and what keeps this from being a pass."""
    counts = report.counts()
    words = [f"{counts[verdict.value]} {verdict.value}" for verdict in Verdict if counts[verdict.value]]
    text = f"{report.cluster_file}: {', '.join(words)}, {len(report.left_out)} not run"
    if not report.readable:
        return f"{text}; the cluster file has to be mended first"
    if report.target == OFFLINE:
        text += "; AWS was not asked (--offline)"
    if report.verdict is Verdict.UNKNOWN and not allow_unknown:
        text += "; unknown is not ok (--allow-unknown accepts it)"
    return text
