"""The observability stack: workspaces made or named, each role narrowed to the cluster's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.synth.build import Synth, synth
from unbroken.config import ObservabilityConfig

WORKSPACE = "ws-12345678-1234-1234-1234-123456789012"


def with_workspaces(mathstral: Synth, folder: Path, **choice: Any) -> Synth:
    """The default cluster with these workspaces."""
    section = ObservabilityConfig(**choice)
    return synth(mathstral.config.model_copy(update={"observability": section}), folder)


def statements(synth: Synth, kind: str) -> dict[str, dict[str, Any]]:
    """Statements of the stack's only role or policy, by Sid."""
    properties = synth.one("observability", kind)["Properties"]
    documents = [each["PolicyDocument"] for each in properties.get("Policies", [properties])]
    return {each["Sid"]: each for document in documents for each in document["Statement"]}


def test_only_a_cluster_that_asks_for_it_has_the_stack(mathstral: Synth, everything: Synth) -> None:
    assert "observability" not in mathstral.areas
    assert "observability" in everything.areas


def test_prometheus_keeps_metrics_and_logs_as_asked(everything: Synth) -> None:
    workspace = everything.one("observability", "AWS::APS::Workspace")
    properties = workspace["Properties"]
    assert properties["WorkspaceConfiguration"] == {"RetentionPeriodInDays": 365}
    assert properties["LoggingConfiguration"]["LogGroupArn"] == {"Fn::GetAtt": ["PrometheusLogs", "Arn"]}
    group = everything.one("observability", "AWS::Logs::LogGroup")["Properties"]
    assert group["LogGroupName"] == "/aws/vendedlogs/prometheus/ml-everything"
    assert group["RetentionInDays"] == 90
    assert workspace["DeletionPolicy"] == "Delete"


def test_workspaces_are_kept_if_asked(mathstral: Synth, tmp_path: Path) -> None:
    kept = with_workspaces(
        mathstral, tmp_path, prometheus="create", grafana="create", grafana_authentication="SAML",
        deletion="retain",
    )  # fmt: skip
    for kind in ("AWS::APS::Workspace", "AWS::Grafana::Workspace"):
        assert kept.one("observability", kind)["DeletionPolicy"] == "RetainExceptOnCreate"
    grafana = kept.one("observability", "AWS::Grafana::Workspace")["Properties"]
    assert grafana["AuthenticationProviders"] == ["SAML"]


def test_nodes_may_write_to_this_workspace_and_read_none(everything: Synth) -> None:
    found = statements(everything, "AWS::IAM::Policy")
    assert set(found) == {"RemoteWrite"}
    assert found["RemoteWrite"]["Action"] == "aps:RemoteWrite"
    arn = found["RemoteWrite"]["Resource"]["Fn::Join"][1]
    assert arn[-1] == {"Fn::GetAtt": ["Prometheus", "WorkspaceId"]}
    [role] = everything.one("observability", "AWS::IAM::Policy")["Properties"]["Roles"]
    assert role["Fn::GetStackOutput"]["StackName"] == "ml-everything-identity"


def test_grafana_reads_this_workspace_and_no_other(everything: Synth) -> None:
    found = statements(everything, "AWS::IAM::Role")
    assert found["Query"]["Resource"]["Fn::Join"][1][-1] == {"Fn::GetAtt": ["Prometheus", "WorkspaceId"]}
    wide = {sid for sid, each in found.items() if each["Resource"] == "*"}
    assert wide == {"Find", "CloudWatchMetrics"}
    assert not [action for each in found.values() for action in _list(each["Action"]) if "Write" in action]
    [trust] = everything.one("observability", "AWS::IAM::Role")["Properties"]["AssumeRolePolicyDocument"][
        "Statement"
    ]
    assert trust["Principal"] == {"Service": "grafana.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_brought_workspaces_are_told_and_not_made(mathstral: Synth, tmp_path: Path) -> None:
    brought = with_workspaces(mathstral, tmp_path, prometheus=WORKSPACE, grafana="g-0123456789")
    assert {body["Type"] for body in brought.template("observability")["Resources"].values()} == {
        "AWS::IAM::Policy"
    }
    outputs = brought.template("observability")["Outputs"]
    assert outputs["PrometheusWorkspaceId"]["Value"] == WORKSPACE
    assert WORKSPACE in str(outputs["PrometheusRemoteWriteUrl"]["Value"])
    assert outputs["GrafanaUrl"]["Value"] == "https://g-0123456789.grafana-workspace.us-west-2.amazonaws.com"


def test_a_brought_role_is_left_alone(brought: Synth, tmp_path: Path) -> None:
    section = ObservabilityConfig(prometheus=WORKSPACE)
    found = synth(brought.config.model_copy(update={"observability": section}), tmp_path)
    assert found.resources("observability", "AWS::IAM::Policy") == {}
    assert found.template("observability")["Outputs"]["PrometheusWorkspaceId"]["Value"] == WORKSPACE


@pytest.mark.parametrize("choice", [{"prometheus": "create"}, {"grafana": "g-0123456789"}])
def test_one_comes_without_the_other(choice: dict[str, str], mathstral: Synth, tmp_path: Path) -> None:
    alone = with_workspaces(mathstral, tmp_path, **choice)
    assert alone.resources("observability", "AWS::Grafana::Workspace") == {}
    made = alone.resources("observability", "AWS::APS::Workspace")
    assert bool(made) == ("prometheus" in choice)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
