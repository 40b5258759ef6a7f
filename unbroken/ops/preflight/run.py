"""The verb: loads the file, makes what is made of it, runs the checks. Nothing is deployed or changed."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from unbroken import config
from unbroken.checks.every import CHECKS
from unbroken.checks.file import FileValid
from unbroken.checks.result import LeftOut, Outcome, Result, Verdict, counted, failed, passed, unknown
from unbroken.checks.runner import answer
from unbroken.checks.subject import Account, Missing, Subject
from unbroken.config import ClusterConfig, ConfigError
from unbroken.ops.errors import CannotRun, CheckFailed
from unbroken.ops.preflight.parts import bundles, templates
from unbroken.ops.preflight.programs import programs
from unbroken.ops.preflight.report import OFFLINE, Report
from unbroken.ops.stages import Display, Stage, Stages
from unbroken.ops.target import Target
from unbroken.ops.tools import project_root

REHEARSAL_AREA = "a rehearsal"
REHEARSAL_ASKS = "a rehearsal of the file on this machine passes"


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    cluster: str | None
    target: str
    rehearsal: str | None = None
    """Which kept rehearsal, for the target of that name."""
    offline: bool = False


def preflight(request: Request, display: Display) -> Report:
    """Run every check that applies. CannotRun where there is no such target."""
    try:
        path, cluster, target = _loaded(request)
    except ConfigError as error:
        return _unreadable(request, error)
    stages = Stages(display)
    with tempfile.TemporaryDirectory(prefix="unbroken-preflight-") as folder:
        subject = _subject(path, cluster, target, Path(folder), stages)
        with stages.stage("checks", "Run the checks") as stage:
            answers = answer(CHECKS, subject, lambda result: _tell(result, stage))
            report = Report(
                path, cluster.name, target.name if target else OFFLINE, answers.results, answers.left_out
            )
            stage.note = ", ".join(f"{count} {word}" for word, count in sorted(report.counts().items()))
    return report


def _tell(result: Result, stage: Stage) -> None:
    """What did not pass, as it comes; what passed is in the list at the end."""
    if result.verdict is not Verdict.PASS:
        stage.detail(f"{result.verdict.value} {result.id}")


def _loaded(request: Request) -> tuple[Path, ClusterConfig, Target | None]:
    if request.offline:
        path = config.find(request.cluster, os.environ)
        return path, config.load(path), None
    from unbroken.ops.choose_target import chosen  # here: it imports what rehearsals need

    return chosen(request.target, request.cluster, request.rehearsal)


def _unreadable(request: Request, error: ConfigError) -> Report:
    """The one answer there is for a file that cannot be loaded."""
    check = FileValid()
    path = config.find(request.cluster, os.environ)
    result = Result(check.id, check.area.value, check.asks, check.refused(error), 0.0)
    left = tuple(
        LeftOut(one.id, one.area.value, "there is no cluster file to look at", on_purpose=False)
        for one in CHECKS
        if one.id != check.id
    )
    return Report(path, "", OFFLINE, (result,), left)


def _subject(
    path: Path, cluster: ClusterConfig, target: Target | None, folder: Path, stages: Stages
) -> Subject:
    """Everything the checks look at, made or gathered."""
    with stages.stage("bundles", "Render the bundles"):
        rendered = bundles(cluster, folder / "bundles")
    with stages.stage("synth", "Make the templates") as stage:
        made = templates(path, folder / "cdk.out")
        stage.note = made.reason.splitlines()[0] if isinstance(made, Missing) else counted(len(made), "stack")
    with stages.stage("programs", "Ask the programs for their versions"):
        found = programs(_root())
    account = Account(target.aws) if target else None
    return Subject(path, cluster, rendered, made, found, account)


def _root() -> Path | None:
    try:
        return project_root()
    except CannotRun:
        return None


def rehearsed(path: Path, out: Path, display: Display) -> Result:
    """A short rehearsal of the file, as one more result."""
    start = time.monotonic()
    outcome = _rehearsal(path, out, display)
    return Result("rehearsal", REHEARSAL_AREA, REHEARSAL_ASKS, outcome, time.monotonic() - start)


def _rehearsal(path: Path, out: Path, display: Display) -> Outcome:
    from unbroken.ops.rehearse.options import Options  # here: most preflights end without a rehearsal
    from unbroken.ops.rehearse.run import rehearse

    try:
        report = rehearse(Options(path, short=True, out=out), display)
    except CheckFailed as error:
        return failed(error.message, error.hint)
    except CannotRun as error:
        return unknown(error.message, error.hint)
    return passed(f"{report.headline}; the report is {out / 'report.html'}")


def worth_rehearsing(report: Report) -> bool:
    """Whether file, bundles and templates are good enough to rehearse; quotas matter on AWS only."""
    here = {check.area.value for check in CHECKS if not check.area.of_account and "tool" not in check.id}
    return report.readable and not any(one.area in here for one in report.of(Verdict.FAIL))
