"""The end of a rehearsal in a screenful: verdict, recovery, loss, leftovers, where the report is."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from unbroken.checks.result import counted
from unbroken.cli.output import styled, table
from unbroken.rehearsal.report_model import Loss, Recovery, Report


def lines(report: Report, out: Path, stream: TextIO) -> list[str]:
    """The summary's lines."""
    colour = "green" if report.verdict == "passed" else "red"
    rows = [row for item in report.recovery for row in recovery_rows(item)]
    rows += loss_rows(report.loss)
    if any(stage.name == "leftovers" for stage in report.stages):
        rows.append(("left behind", ", ".join(report.leftovers) or "nothing"))
    if report.kept:
        rows.append(("kept", f"{len(report.kept)} on purpose ({', '.join(kinds(report.kept))})"))
    ledger = report.ledger
    rows.append(("emulated", f"{ledger.verified_on_aws} of {ledger.total} behaviours verified on AWS"))
    rows.append(("report", str(out / "report.html")))
    return [
        f"{styled(report.headline, colour, stream)} in {report.seconds:.0f} s",
        *(f"  {line}" for line in table(rows).splitlines()),
    ]


def kinds(items: list[str]) -> list[str]:
    """The kinds of things among `kind identifier` words, each once, the file system's first."""
    found = dict.fromkeys(item.partition(" of ")[0].rpartition(" ")[0] for item in items)
    return sorted(found, key=lambda kind: (kind not in ("file system", "bucket"), kind))


def recovery_rows(item: Recovery) -> list[tuple[str, str]]:
    """One fault and its recovery."""
    parts = [
        f"{word} +{value:.1f} s"
        for word, value in (
            ("seen", item.detected_s),
            ("marked", item.marked_s),
            ("replaced", item.replaced_s),
            ("training again", item.resumed_s),
        )
        if value is not None
    ]
    same = {True: "same job id", False: "another job id", None: "job id unknown"}[item.same_job_id]
    return [
        ("fault", f"{item.fault.replace('_', ' ')} of {item.node} after step {item.step}"),
        ("recovery", ", ".join(parts) or "none seen"),
        ("cost", f"{_steps(item.steps_lost)} done again, {same}"),
    ]


def _steps(lost: int | None) -> str:
    return "? steps" if lost is None else counted(lost, "step")


def loss_rows(loss: Loss) -> list[tuple[str, str]]:
    """Whether the repeated steps agree."""
    if loss.matches_undisturbed is None:
        return []
    word = "agree" if loss.matches_undisturbed else "DIFFER"
    return [("loss", f"{loss.compared_steps} repeated steps {word} with the first time")]
