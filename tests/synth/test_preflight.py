"""Preflight on whole assemblies: the examples' templates pass, and what the checks assume of them holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ministack.core.iam_evaluator as evaluator
import pytest

from tests.synth.build import Synth
from tests.unit.checks.account import ACCOUNT, HEALTHY
from tests.unit.checks.recorded import aws
from tests.unit.checks.subjects import GOOD_PROGRAMS
from unbroken.checks.account.identity import LEAST_BOOTSTRAP
from unbroken.checks.account.needs import OF_CLOUDFORMATION
from unbroken.checks.every import CHECKS
from unbroken.checks.result import Outcome, Verdict
from unbroken.checks.runner import answer
from unbroken.checks.subject import Account, Missing, Subject
from unbroken.checks.template.model import Template
from unbroken.checks.template.stand_in import stand_in

SLOW = "template-schema"
"""cfn-lint; test_lint.py runs it on every example."""
OF_TEMPLATE = [check for check in CHECKS if check.id.startswith("template-") and check.id != SLOW]
PARTS = {
    "AWS::CloudFormation::WaitConditionHandle",
    "AWS::EC2::FlowLog",
    "AWS::EC2::Route",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCCidrBlock",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::IAM::Policy",
    "AWS::KMS::Alias",
    "AWS::Lambda::LayerVersion",
    "AWS::S3::BucketPolicy",
}
"""Made with the rights to something else that is in the table."""

FORBIDDEN = (
    "the nodes' role may not ec2:CreateNetworkInterface, ec2:CreateNetworkInterfacePermission, "
    "ec2:DeleteNetworkInterface"
)


def subject(synth: Synth) -> Subject:
    templates = {
        area: Template(area, f"{synth.config.name}-{area}", synth.template(area), synth.path(area))
        for area in synth.areas
    }
    nothing = Missing("not rendered", "", wrong=False)
    return Subject(Path("cluster.yaml"), synth.config, nothing, templates, GOOD_PROGRAMS, None)


def test_every_example_passes_the_template_checks(example: Synth) -> None:
    results = answer(OF_TEMPLATE, subject(example)).results
    assert [(one.id, one.outcome.found) for one in results if one.verdict is not Verdict.PASS] == []


def test_a_wrong_group_is_found_by_cfn_lint(mathstral: Synth, tmp_path: Path) -> None:
    document = mathstral.template("cluster")
    document["Resources"]["Cluster"]["Properties"]["InstanceGroups"][0]["InstanceCont"] = 1
    path = tmp_path / "wrong.template.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    broken = {"cluster": Template("cluster", "ml-cluster-cluster", document, path)}
    nothing = Missing("not rendered", "", wrong=False)
    wrong = Subject(Path("c"), mathstral.config, nothing, broken, GOOD_PROGRAMS, None)
    [result] = answer([check for check in CHECKS if check.id == SLOW], wrong).results
    assert (result.verdict, "InstanceCont" in result.outcome.found) == (Verdict.FAIL, True)


def evaluated(arguments: dict[str, Any]) -> dict[str, Any]:
    """The policy simulator, played by the evaluator that the embedded AWS decides with."""
    statements = [evaluator.parse_policy_document(text) for text in arguments["PolicyInputList"]]
    context = {
        entry["ContextKeyName"].lower(): entry["ContextKeyValues"][0] for entry in arguments["ContextEntries"]
    }
    results = []
    for action in arguments["ActionNames"]:
        question = evaluator.EvalContext(
            principal_arn=f"arn:aws:sts::{ACCOUNT}:assumed-role/nodes/one",
            principal_type="AssumedRole",
            principal_account=ACCOUNT,
            action=action,
            resource_arn=arguments["ResourceArns"][0],
            region="us-west-2",
            secure_transport=True,
            service_context=context,
        )
        allowed = evaluator.evaluate(question, statements).decision == "Allow"
        decision = "allowed" if allowed else "implicitDeny"
        results.append(
            {"EvalActionName": action, "EvalResourceName": question.resource_arn, "EvalDecision": decision}
        )
    return {"EvaluationResults": results}


def simulated(synth: Synth) -> Outcome:
    """What permissions-nodes answers of these templates."""
    account = Account(aws(HEALTHY | {"iam.simulate_custom_policy": evaluated}))
    made = subject(synth)
    asking = Subject(made.path, made.config, made.bundles, made.templates, made.programs, account)
    [result] = answer([check for check in CHECKS if check.id == "permissions-nodes"], asking).results
    return result.outcome


def test_the_role_of_every_example_allows_what_is_needed(example: Synth) -> None:
    """And the simulation asks about the very resources that the templates name."""
    if example.config.identity.execution_role_arn is None:
        found = simulated(example)
        assert found.verdict is Verdict.PASS, found


def test_a_role_for_another_subnet_is_found(mathstral: Synth, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(*arguments: Any) -> str:
        return stand_in(*arguments).replace("subnet-", "subnet-x")

    monkeypatch.setattr("unbroken.checks.account.nodes_needs.stand_in", elsewhere)
    found = simulated(mathstral)
    assert (found.verdict, found.found) == (Verdict.FAIL, FORBIDDEN)


def test_the_rights_table_knows_every_type_that_is_made(examples: dict[str, Synth]) -> None:
    made = {body["Type"] for synth in examples.values() for _, _, body in synth.everything()}
    strange = {name for name in made if not name.startswith("Custom::")} - set(OF_CLOUDFORMATION) - PARTS
    assert strange == set()


def test_the_bootstrap_version_is_the_one_that_cdk_asks_for(mathstral: Synth) -> None:
    asked = {
        body["properties"]["requiresBootstrapStackVersion"]
        for body in mathstral.artifacts.values()
        if "requiresBootstrapStackVersion" in body.get("properties", {})
    }
    assert max(asked) == LEAST_BOOTSTRAP


def test_the_nodes_role_is_where_the_simulation_looks_for_it(mathstral: Synth) -> None:
    roles = mathstral.resources("identity", "AWS::IAM::Role")
    assert any("sagemaker.amazonaws.com" in str(role["Properties"]) for role in roles.values())
