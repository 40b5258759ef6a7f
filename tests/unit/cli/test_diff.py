"""What `diff` prints of nodes that run, beside the plan."""

from __future__ import annotations

import json

import pytest

from unbroken.cli import diff as diff_cli
from unbroken.ops.diff import Plan
from unbroken.ops.diff.groups import GroupChange
from unbroken.ops.diff.run import Diff
from unbroken.ops.node_bundles import OtherBundle

SAME = Plan((), (), (), (), (), False)
LARGER = Plan((), (), (), (GroupChange("w", "ml.m5.xlarge", 1, 2, ()),), (), False)
Captured = pytest.CaptureFixture[str]


def printed(monkeypatch: pytest.MonkeyPatch, plan: Plan, other: OtherBundle | None, as_json: bool) -> None:
    monkeypatch.setattr(diff_cli, "diff", lambda *_: Diff("ml", "us-west-2", plan, [], other))
    diff_cli.diff_verb(None, "aws", None, as_json)


@pytest.mark.parametrize("plan", [SAME, LARGER])
@pytest.mark.parametrize(
    ("other", "said"),
    [
        (OtherBundle(["i-1"]), "nodes that came up with another bundle than the deployed one: i-1;"),
        (OtherBundle(None, "no controller is running"), "is unknown: no controller is running"),
        (OtherBundle([]), ""),
        (None, ""),
    ],
)
def test_nodes_with_another_bundle_are_told_whatever_the_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, plan: Plan, other: OtherBundle | None, said: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    printed(monkeypatch, plan, other, as_json=False)
    shown = capsys.readouterr().out
    assert said in shown
    assert ("bundle" in shown) is bool(said)


def test_the_document_has_them(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    printed(monkeypatch, SAME, OtherBundle(["i-1"]), as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["other_bundle"] == {"nodes": ["i-1"], "unknown": ""}
    assert document["job_changes"] is False
