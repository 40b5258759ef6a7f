"""What `up` and `down` ask and print: nothing is done unasked, and stopping is explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from unbroken import config
from unbroken.aws.cloudformation import Stack
from unbroken.cli import asking
from unbroken.cli import down as down_cli
from unbroken.cli import up as up_cli
from unbroken.ops.diff import Plan
from unbroken.ops.down.parts import Part
from unbroken.ops.down.run import Down, Intent
from unbroken.ops.down.run import Request as DownRequest
from unbroken.ops.down.stays import stay
from unbroken.ops.errors import CannotRun
from unbroken.ops.interrupts import Interrupted
from unbroken.ops.node_bundles import OtherBundle
from unbroken.ops.stages import StageFailed
from unbroken.ops.target import on_embedded
from unbroken.ops.up.job import Job
from unbroken.ops.up.run import Request, Up

FILE = "name: ml\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}\n"
CONFIG = config.loads(FILE, Path("c.yaml"))
NEW = Plan(("ml-network",), (), (), (), (), False)
SAME = Plan((), (), (), (), (), False)
KEPT = stay("AWS::FSx::FileSystem", "fs-1", "us-west-2", "the cluster file keeps it")
Captured = pytest.CaptureFixture[str]


def upping(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, job: Job | None = None, other: OtherBundle | None = None
) -> list[str]:
    done: list[str] = []

    def up(request: Request, display: Any, agree: Callable[[Plan], None]) -> Up:
        agree(plan)
        done.append("deployed")
        return Up("ml", "us-west-2", "aws", ["ml-network"], ["aws ssm start-session --target t"], job, other)

    monkeypatch.setattr(up_cli, "up", up)
    return done


def test_nothing_is_deployed_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    done = upping(monkeypatch, NEW)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(CannotRun, match="no terminal to ask at") as refused:
        up_cli.up_verb(Request(), yes=False, as_json=False)
    assert (done, refused.value.hint) == ([], "pass --yes")


@pytest.mark.parametrize(("answer", "done"), [(True, ["deployed"]), (False, [])])
def test_the_answer_decides(
    answer: bool, done: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    found = upping(monkeypatch, NEW)
    monkeypatch.setattr(asking, "_need_terminal", lambda: None)
    monkeypatch.setattr(typer, "confirm", lambda question, err: answer)
    if answer:
        up_cli.up_verb(Request(), yes=False, as_json=False)
    else:
        with pytest.raises(CannotRun, match="nothing was done"):
            up_cli.up_verb(Request(), yes=False, as_json=False)
    assert found == done
    assert "not there yet: ml-network" in capsys.readouterr().err


def test_where_nothing_differs_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    upping(monkeypatch, SAME)
    up_cli.up_verb(Request(), yes=False, as_json=True)
    shown = capsys.readouterr()
    assert "what is deployed is as the cluster file says" in shown.err
    assert "aws ssm start-session --target t" in shown.err
    assert json.loads(shown.out) == {
        "schema_version": 1,
        "cluster": "ml",
        "region": "us-west-2",
        "target": "aws",
        "stacks": ["ml-network"],
        "connect": ["aws ssm start-session --target t"],
        "job": None,
        "other_bundle": None,
    }


def test_a_job_that_the_controller_lacks_is_a_warning_after_a_good_deployment(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    upping(monkeypatch, SAME, Job("no controller is running", "(b=$(mktemp -d) && ...)"))
    up_cli.up_verb(Request(), yes=True, as_json=True)
    shown = capsys.readouterr()
    assert json.loads(shown.out)["job"]["problem"] == "no controller is running"
    up, warning = shown.err.index("ml is up in us-west-2"), shown.err.index("warning: the controller may not")
    assert up < warning
    assert "this, in a root shell of the controller:\n  (b=$(mktemp -d) && ...)\n" in shown.err
    upping(monkeypatch, SAME, Job("stack ml-cluster is not deployed", ""))
    up_cli.up_verb(Request(), yes=True, as_json=False)
    assert capsys.readouterr().err.endswith(
        "stack ml-cluster is not deployed\n\nRunning `up` again gives it\n"
    )


def test_a_job_that_arrived_is_no_warning(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    upping(monkeypatch, SAME, Job("", "(b=$(mktemp -d) && ...)"), OtherBundle(["i-1"]))
    up_cli.up_verb(Request(), yes=True, as_json=False)
    said = capsys.readouterr().err
    assert "warning" not in said and "mktemp" not in said
    assert "nodes that came up with another bundle than the deployed one: i-1; it reaches" in said


def test_stopping_is_explained(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def up(*_: Any) -> Up:
        error = Interrupted(2)
        error.explanation = ["ml-storage is CREATE_IN_PROGRESS: CloudFormation goes on with it"]
        raise error

    monkeypatch.setattr(up_cli, "up", up)
    with pytest.raises(typer.Exit) as ended:
        up_cli.up_verb(Request(), yes=True, as_json=False)
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == (
        "interrupted\nml-storage is CREATE_IN_PROGRESS: CloudFormation goes on with it\n"
    )


def test_a_failed_nodes_log_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def up(*_: Any) -> Up:
        raise StageFailed("it failed", "mend it", "10-role applied\n70-accounting failed")

    monkeypatch.setattr(up_cli, "up", up)
    with pytest.raises(StageFailed):
        up_cli.up_verb(Request(), yes=True, as_json=False)
    assert "  70-accounting failed" in capsys.readouterr().err


def downing(monkeypatch: pytest.MonkeyPatch, jobs: list[str] | None) -> list[str]:
    done: list[str] = []
    part = Part(Stack("ml-cluster", "CREATE_COMPLETE", "", {}), (), {"Resources": {}})

    def down(request: DownRequest, display: Any, agree: Callable[[Intent], None]) -> Down:
        agree(Intent(CONFIG, on_embedded(9, "us-west-2"), [part], [KEPT], jobs, "no controller is running"))
        done.append("deleted")
        return Down("ml", "us-west-2", ["ml-cluster"], [KEPT], {"file system": "about $9 a month"}, jobs)

    monkeypatch.setattr(down_cli, "down", down)
    return done


@pytest.mark.parametrize(("typed", "done"), [("ml", ["deleted"]), ("yes", []), ("", [])])
def test_the_name_has_to_be_typed(typed: str, done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = downing(monkeypatch, [])
    monkeypatch.setattr(asking, "_need_terminal", lambda: None)
    monkeypatch.setattr(typer, "prompt", lambda question, **_: typed)
    if done:
        down_cli.down_verb(DownRequest(), yes=False, as_json=False)
    else:
        with pytest.raises(CannotRun, match="that is not 'ml'; nothing was done"):
            down_cli.down_verb(DownRequest(), yes=False, as_json=False)
    assert found == done


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        (["job 1 of ann: train"], "these jobs end with it:\n  job 1 of ann: train"),
        (None, "whether jobs run is unknown: no controller is running"),
    ],
)
def test_jobs_are_told_or_said_to_be_unknown(
    jobs: list[str] | None, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    downing(monkeypatch, jobs)
    down_cli.down_verb(DownRequest(), yes=True, as_json=False)
    assert said in capsys.readouterr().err


def test_what_stays_is_told_with_cost_and_command(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    downing(monkeypatch, [])
    down_cli.down_verb(DownRequest(), yes=True, as_json=True)
    shown = capsys.readouterr()
    assert "  file system fs-1: the cluster file keeps it; costs: about $9 a month" in shown.err
    assert "    aws fsx delete-file-system --file-system-id fs-1 --region us-west-2" in shown.err
    assert json.loads(shown.out)["stays"][0]["identity"] == "fs-1"
