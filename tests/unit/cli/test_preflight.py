"""What `preflight` prints, and its exit codes."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from unbroken.checks.result import LeftOut, Result, Verdict, failed, passed, unknown
from unbroken.cli import preflight as verb
from unbroken.ops.errors import CannotRun
from unbroken.ops.preflight.report import Report
from unbroken.ops.preflight.run import Request

GOOD = Result("account-identity", "the account", "there are credentials", passed("account 1"), 0.1)
BAD = Result("quota-instances", "quotas", "the quota covers the nodes", failed("4 of 0", "ask for 4"), 0.1)
UNSURE = Result("quota-vpcs", "quotas", "there is room", unknown("may not ask", "have it allowed"), 0.1)
LEFT = LeftOut("training-plan", "instance types and capacity", "nothing in the file asks for it")


def run(report: Report, monkeypatch: pytest.MonkeyPatch, **options: Any) -> int:
    monkeypatch.setattr(verb, "preflight", lambda request, display: report)
    settings: dict[str, Any] = {
        "allow_unknown": False,
        "rehearse": False,
        "out": Path("out"),
        "as_json": False,
    }
    with pytest.raises(typer.Exit) as ended:
        verb.preflight_verb(Request(None, "aws"), **(settings | options))
    return ended.value.exit_code


def report(*results: Result, cluster: str = "ml", target: str = "aws") -> Report:
    return Report(Path("cluster.yaml"), cluster, target, results, (LEFT,))


def test_what_passed_takes_a_line_and_what_did_not_takes_four(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(report(GOOD, BAD, UNSURE), monkeypatch) == 1
    said = capsys.readouterr()
    assert said.out == (
        "\nthe account\n"
        "  PASS     account-identity             account 1\n"
        "\nquotas\n"
        "  FAIL     quota-instances\n"
        "           asked  the quota covers the nodes\n"
        "           found  4 of 0\n"
        "           fix    ask for 4\n"
        "  UNKNOWN  quota-vpcs\n"
        "           asked  there is room\n"
        "           found  may not ask\n"
        "           fix    have it allowed\n"
        "\nnot run\n"
        "  nothing in the file asks for it: training-plan\n"
    )
    assert said.err.splitlines()[-1] == "cluster.yaml: 1 PASS, 1 FAIL, 1 UNKNOWN, 1 not run"


@pytest.mark.parametrize(
    ("results", "options", "code", "words"),
    [
        ([GOOD], {}, 0, "1 PASS"),
        ([GOOD, UNSURE], {}, 1, "unknown is not ok"),
        ([GOOD, UNSURE], {"allow_unknown": True}, 0, "1 UNKNOWN"),
        ([GOOD, BAD], {"allow_unknown": True}, 1, "1 FAIL"),
    ],
)
def test_exit_codes(
    results: list[Result],
    options: dict[str, Any],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(report(*results), monkeypatch, **options) == code
    assert words in capsys.readouterr().err


def test_offline_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(report(GOOD, target="none"), monkeypatch)
    assert "AWS was not asked (--offline)" in capsys.readouterr().err


def test_json_is_all_there_is_on_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(report(GOOD, BAD), monkeypatch, as_json=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["counts"]) == ("FAIL", {"PASS": 1, "FAIL": 1})


def test_a_rehearsal_comes_last_and_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Result("rehearsal", "a rehearsal", "it passes", failed("it did not", "see the log"), 9.0)
    monkeypatch.setattr(verb, "rehearsed", lambda path, out, display: broken)
    assert run(report(GOOD), monkeypatch, rehearse=True) == 1
    assert "\na rehearsal\n  FAIL     rehearsal\n" in capsys.readouterr().out


def test_a_file_that_did_not_pass_is_not_rehearsed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Result("file-valid", "the cluster file", "it is right", failed("it is not", "mend it"), 0.0)
    assert run(report(wrong, cluster=""), monkeypatch, rehearse=True) == 2
    assert "no rehearsal" in capsys.readouterr().err


def test_verdicts_are_told_apart_without_colour() -> None:
    assert {verdict.value for verdict in Verdict} == {"PASS", "FAIL", "UNKNOWN"}


def test_the_collector_is_off_only_while_checks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def refuse(request: Request, display: object) -> Report:
        seen.append(gc.isenabled())
        raise CannotRun("no such target", "name one")

    monkeypatch.setattr(verb, "preflight", refuse)
    with pytest.raises(CannotRun):
        verb.preflight_verb(
            Request(None, "aws"), allow_unknown=False, rehearse=False, out=Path("out"), as_json=False
        )
    assert (seen, gc.isenabled()) == ([False], True)
