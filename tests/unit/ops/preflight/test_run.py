"""The verb: what it gathers, what it reports, and what its exit code means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.checks import templates as small
from tests.unit.checks.account import HEALTHY
from tests.unit.checks.recorded import Denying, aws
from tests.unit.checks.subjects import GOOD_PROGRAMS
from unbroken import config, render
from unbroken.aws import Aws
from unbroken.aws.facade import over
from unbroken.checks.check import Check
from unbroken.checks.every import CHECKS
from unbroken.checks.result import LeftOut, Result, Verdict, failed, passed, unknown
from unbroken.checks.subject import Missing
from unbroken.ops import choose_target
from unbroken.ops.errors import CannotRun, CheckFailed
from unbroken.ops.preflight import parts, programs, run
from unbroken.ops.preflight.report import Report
from unbroken.ops.preflight.run import Request, preflight
from unbroken.ops.synth import Assembly
from unbroken.ops.target import Target

FILE = "name: ml\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 4}\n"
SLOW = "template-schema"


class Quiet:
    """A display that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def say(self, text: str) -> None:
        self.told.append(text)

    def stage_started(self, title: str) -> None:
        self.told.append(title)

    def detail(self, text: str) -> None:
        self.told.append(text)

    def stage_ended(self, title: str, ok: bool, seconds: float, note: str) -> None:
        self.told.append(f"{title}: {note}")


@pytest.fixture
def cluster_file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without CDK, without cfn-lint, with the programs that a machine should have."""
    checks: tuple[Check, ...] = tuple(check for check in CHECKS if check.id != SLOW)
    made = small.written(small.documents(), tmp_path)
    monkeypatch.setattr(run, "CHECKS", checks)
    monkeypatch.setattr(run, "templates", lambda *_: made)
    monkeypatch.setattr(run, "programs", lambda root: GOOD_PROGRAMS)


def on(account: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(name: str, explicit: str | None, identity: str | None = None) -> Any:
        loaded = config.load(Path(str(explicit)))
        return Path(str(explicit)), loaded, Target(name, loaded.region, account, {})

    monkeypatch.setattr(choose_target, "chosen", chosen)


def test_a_good_file_in_a_healthy_account_passes(
    quick: None, cluster_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {"s3.head_bucket": small_refusal("404")}
    on(aws(HEALTHY | free), monkeypatch)
    report = preflight(Request(str(cluster_file), "aws"), Quiet())
    assert [one for one in report.results if one.verdict is not Verdict.PASS] == []
    assert (report.exit_code(allow_unknown=False), report.target, report.cluster) == (0, "aws", "ml")


def small_refusal(code: str) -> Any:
    from tests.unit.checks.recorded import Refusal

    return Refusal(code)


def test_an_account_that_may_not_be_asked_is_unknown_and_not_ok(
    quick: None, cluster_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(over(Denying()), monkeypatch)
    display = Quiet()
    report = preflight(Request(str(cluster_file), "aws"), display)
    assert report.verdict is Verdict.UNKNOWN
    assert (report.exit_code(allow_unknown=False), report.exit_code(allow_unknown=True)) == (1, 0)
    assert "UNKNOWN account-identity" in display.told
    assert any(one.id == "quota-instances" and not one.on_purpose for one in report.left_out)


def test_offline_asks_nothing_and_says_so(quick: None, cluster_file: Path) -> None:
    report = preflight(Request(str(cluster_file), "aws", offline=True), Quiet())
    assert (report.verdict, report.target) == (Verdict.PASS, "none")
    left = [one for one in report.left_out if one.reason.startswith("--offline")]
    assert len(left) == sum(check.area.of_account for check in CHECKS)


def test_a_file_that_cannot_be_read_ends_with_two(cluster_file: Path) -> None:
    cluster_file.write_text("name: 1\n")
    report = preflight(Request(str(cluster_file), "aws", offline=True), Quiet())
    assert [(one.id, one.verdict) for one in report.results] == [("file-valid", Verdict.FAIL)]
    assert (report.exit_code(allow_unknown=True), report.readable) == (2, False)
    assert len(report.left_out) == len(CHECKS) - 1
    assert json.dumps(report.document())


def result(verdict: Verdict) -> Result:
    outcome = {Verdict.PASS: passed("x"), Verdict.FAIL: failed("x", "y")}.get(verdict, unknown("x", "y"))
    return Result("one", "the account", "asked", outcome, 0.0)


P, F, U = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("verdicts", "left", "strict", "allowing"),
    [
        ([P, P], [], 0, 0),
        ([P, F, U], [], 1, 1),
        ([P, U], [], 1, 0),
        ([P], [LeftOut("a", "b", "no templates", on_purpose=False)], 1, 0),
        ([P], [LeftOut("a", "b", "--offline")], 0, 0),
        ([], [], 1, 0),
    ],
)
def test_exit_codes(verdicts: list[Verdict], left: list[LeftOut], strict: int, allowing: int) -> None:
    report = Report(Path("c"), "ml", "aws", tuple(map(result, verdicts)), tuple(left))
    assert (report.exit_code(False), report.exit_code(True)) == (strict, allowing)


def test_the_document_has_a_version_and_every_answer() -> None:
    document = Report(Path("c"), "ml", "aws", (result(F),), (LeftOut("a", "b", "c"),)).document()
    assert document["schema_version"] == 1
    assert document["results"] == [
        {
            "id": "one",
            "area": "the account",
            "verdict": "FAIL",
            "asked": "asked",
            "found": "x",
            "fix": "y",
            "seconds": 0.0,
        }
    ]
    assert document["left_out"] == [{"id": "a", "area": "b", "reason": "c", "on_purpose": True}]


def test_a_rehearsal_is_one_more_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ends: dict[str, Any] = {"how": CheckFailed("the job did not resume", "see its log")}

    def rehearse(options: Any, display: Any) -> Any:
        raise ends["how"]

    monkeypatch.setattr("unbroken.ops.rehearse.run.rehearse", rehearse)
    found = run.rehearsed(Path("c"), tmp_path, Quiet())
    assert (found.verdict, found.outcome.found) == (Verdict.FAIL, "the job did not resume")
    ends["how"] = CannotRun("cdk is not installed", "make setup")
    assert run.rehearsed(Path("c"), tmp_path, Quiet()).verdict is Verdict.UNKNOWN


def test_only_a_sound_file_is_rehearsed() -> None:
    bad = Result("template-efa-rules", "the templates", "asked", failed("x", "y"), 0.0)
    assert not run.worth_rehearsing(Report(Path("c"), "ml", "aws", (bad,), ()))
    assert run.worth_rehearsing(Report(Path("c"), "ml", "aws", (result(F),), ()))
    assert not run.worth_rehearsing(Report(Path("c"), "", "none", (), ()))


def test_synth_that_refuses_is_told_from_tools_that_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refusing(root: Path, file: Path, out: Path) -> Assembly:
        raise CannotRun("app.py ended with exit code 1", "mend it")

    monkeypatch.setattr(parts, "lacking", lambda root: [])
    found = parts.templates(Path("c"), tmp_path, refusing)
    assert found == Missing("app.py ended with exit code 1", "mend it", wrong=True)
    monkeypatch.setattr(parts, "lacking", lambda root: [("Node.js is not installed", "make setup")])
    found = parts.templates(Path("c"), tmp_path, refusing)
    assert found == Missing("Node.js is not installed", "make setup", wrong=False)


def test_a_bundle_the_renderer_refuses_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise render.RenderError("on_create.sh has Windows line ends", "sed")

    monkeypatch.setattr(render, "bundle", refuse)
    cluster = config.ClusterConfig.model_validate(
        {"name": "ml", "worker_groups": [{"name": "w", "instance_type": "ml.m5.xlarge", "num_instances": 1}]}
    )
    found = parts.bundles(cluster, tmp_path)
    assert isinstance(found, Missing) and found.wrong


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_programs_are_asked_for_their_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "aws", "echo aws-cli/2.31.1 Python/3.13")
    program(tmp_path, "session-manager-plugin", "exit 3")
    (tmp_path / "package.json").write_text('{"version": "2.1148.1"}')
    program(tmp_path, "cdk", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(programs, "node_program", lambda: None)
    found = programs.programs(None)
    assert (found.aws and found.aws.version) == "aws-cli/2.31.1 Python/3.13"
    assert (found.session_manager_plugin and found.session_manager_plugin.version) == ""
    assert (found.cdk and found.cdk.version) == "2.1148.1"
    assert found.node is None
