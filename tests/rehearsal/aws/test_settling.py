"""CloudFormation answers when the stack has settled, so that a poller's first look is its last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import ministack.app
import pytest

from tests.rehearsal.aws.network import resource
from tests.rehearsal.aws.support import template
from unbroken.rehearsal.aws import settling


def test_the_first_look_sees_the_end(client: Callable[[str], Any]) -> None:
    cloudformation = client("cloudformation")
    body = template({"Bucket": resource("AWS::S3::Bucket")}, None)
    made = cloudformation.create_stack(StackName="settled", TemplateBody=body)
    assert (
        cloudformation.describe_stacks(StackName="settled")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
    )
    cloudformation.delete_stack(StackName=made["StackId"])
    found = cloudformation.describe_stacks(StackName=made["StackId"])["Stacks"][0]
    assert found["StackStatus"] == "DELETE_COMPLETE"


def test_a_stack_that_takes_long_is_answered_for_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    async def original(*_: object) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, b"begun"

    monkeypatch.setitem(ministack.app.SERVICE_HANDLERS, "cloudformation", original)
    monkeypatch.setattr(settling, "_resolve_stack", lambda _name: {"StackStatus": "CREATE_IN_PROGRESS"})
    settling.install(patience=0.05)
    handle = ministack.app.SERVICE_HANDLERS["cloudformation"]
    answer = asyncio.run(handle("POST", "/", {}, b"Action=CreateStack&StackName=slow", {}))
    assert answer[2] == b"begun"


def test_the_stack_of_a_request() -> None:
    assert settling.stack_name({"StackName": "one"}) == "one"
    assert settling.stack_name({"ChangeSetName": "unknown"}) == ""
