"""ministack's private parts that the embedded AWS relies on: this fails first when its version moves them."""

from __future__ import annotations

import inspect
from importlib.metadata import version

import ministack.app
import ministack.core.iam_actions as iam_actions
import ministack.core.iam_evaluator as evaluator
import ministack.services.cloudformation.changesets as changesets
import ministack.services.cloudformation.handlers as handlers
import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.cloudformation.stacks as stacks
import ministack.services.cloudwatch as cloudwatch
import ministack.services.ec2 as ec2
import ministack.services.iam as iam
import ministack.services.s3 as s3
import pytest
from ministack.core import router

from unbroken.rehearsal.aws.ec2.api import _REPLACEMENTS
from unbroken.rehearsal.aws.ec2.filters import KINDS, KNOWN
from unbroken.rehearsal.aws.iam import SIMULATIONS


def test_the_version_is_the_one_that_was_read() -> None:
    assert version("ministack") == "1.5.33"


def test_resource_tables() -> None:
    assert {"create", "update", "delete"} <= set(provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"])
    assert isinstance(provisioners._REPLACING_PROPERTIES, dict)
    assert provisioners._STACK_TAG_PROPERTY["AWS::EC2::VPC"] == ("Tags", "list")
    assert stacks._runs_on_worker_thread("Custom::Anything") is True


@pytest.mark.parametrize("module", [handlers, changesets])
def test_templates_are_checked_by_a_name_in_each_module(module: object) -> None:
    assert callable(getattr(module, "validate_template_support"))  # noqa: B009  (not in its types)


def test_services_are_found_by_target_prefix() -> None:
    assert isinstance(ministack.app.SERVICE_HANDLERS, dict)
    assert "target_prefixes" in router.SERVICE_PATTERNS["dynamodb"]
    assert callable(ministack.app._routing_params)


def test_ec2_actions_and_records() -> None:
    assert set(_REPLACEMENTS) | set(KINDS) | set(KNOWN) <= set(ec2._ACTION_MAP)
    for store in (
        "_network_interfaces",
        "_security_groups",
        "_subnets",
        "_nat_gateways",
        "_route_tables",
        "_vpcs",
    ):
        assert hasattr(ec2, store), store
    assert ec2._az_id_for_zone_name("us-west-2d") == "usw2-az4"


def test_stacks_touch_resources_by_names_of_their_module() -> None:
    for name in ("_provision_resource", "_update_resource", "_delete_resource", "_add_event"):
        assert callable(getattr(stacks, name)), name
    assert "DescribeStackEvents" in handlers._ACTION_HANDLERS and callable(handlers._resolve_stack)


def test_small_services() -> None:
    assert set(SIMULATIONS) <= set(iam._IAM_HANDLERS)
    assert callable(s3._resolve_sse_write_headers) and callable(s3._bucket_default_sse_headers)
    assert callable(cloudwatch._store_datum) and "monitoring" in ministack.app.SERVICE_HANDLERS


def test_policies() -> None:
    for name in (
        "evaluate", "_gather_role_policies", "_permissions_boundary", "combine_resource_policy",
        "evaluate_resource_policy", "_resource_policy", "_resolve_condition_key",
    ):  # fmt: skip
        assert callable(getattr(evaluator, name)), name
    for name in (
        "extract_iam_action",
        "extract_resource_arn",
        "s3_additional_checks",
        "access_denied_response",
    ):
        assert callable(getattr(iam_actions, name)), name
    assert "secure_transport" in inspect.signature(evaluator.EvalContext).parameters
    assert callable(iam._make_aws_managed_record) and isinstance(iam._aws_managed_policies, dict)
