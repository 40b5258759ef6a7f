"""Stacks made by plain API calls, and what is said of how they ended."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

STACK_SECONDS = 20.0

Template = dict[str, Any]


@dataclass(frozen=True)
class Deployed:
    """How a stack ended."""

    name: str
    status: str
    outputs: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


class Stacks:
    """Makes, changes and deletes stacks, waiting for each."""

    def __init__(self, cloudformation: Any) -> None:
        self.api = cloudformation
        self.names: list[str] = []

    def create(self, resources: Template, outputs: Template | None = None) -> Deployed:
        name = f"test-{uuid.uuid4().hex[:8]}"
        self.names.append(name)
        self.api.create_stack(
            StackName=name, TemplateBody=template(resources, outputs), Capabilities=["CAPABILITY_NAMED_IAM"]
        )
        return self.settled(name)

    def update(self, name: str, resources: Template, outputs: Template | None = None) -> Deployed:
        self.api.update_stack(
            StackName=name, TemplateBody=template(resources, outputs), Capabilities=["CAPABILITY_NAMED_IAM"]
        )
        return self.settled(name)

    def delete(self, name: str) -> Deployed:
        stack_id = self.api.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
        self.api.delete_stack(StackName=name)
        return self.settled(stack_id)

    def settled(self, name: str) -> Deployed:
        deadline = time.monotonic() + STACK_SECONDS
        while (found := self.api.describe_stacks(StackName=name)["Stacks"][0])["StackStatus"].endswith(
            "PROGRESS"
        ):
            assert time.monotonic() < deadline, f"stack {name} is still {found['StackStatus']}"
            time.sleep(0.01)
        events = self.api.describe_stack_events(StackName=name)["StackEvents"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}
        reasons = [e["ResourceStatusReason"] for e in events if e.get("ResourceStatusReason")]
        return Deployed(found["StackName"], found["StackStatus"], outputs, reasons)


def template(resources: Template, outputs: Template | None) -> str:
    body: Template = {"Resources": resources}
    if outputs:
        body["Outputs"] = {name: {"Value": value} for name, value in outputs.items()}
    return json.dumps(body)
