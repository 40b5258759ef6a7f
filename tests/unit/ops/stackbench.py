"""Stacks of one cluster on the embedded AWS, made by plain calls; and a target that loses no time waiting."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from tests.rehearsal.aws.support import Stacks
from unbroken.config import CLUSTER_TAG
from unbroken.ops.target import Pace, Target, on_embedded
from unbroken.rehearsal.composition import Rehearsal

REGION = "us-west-2"
CAPABILITIES = ["CAPABILITY_NAMED_IAM"]


@cache
def embedded(port: int) -> Target:
    """boto3's clients are slow to make."""
    return on_embedded(port, REGION)


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def pause(self, seconds: float) -> None:
        self.seconds += seconds

    def now(self) -> float:
        return self.seconds


def parameter(value: str = "x") -> dict[str, Any]:
    """The cheapest resource there is."""
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}}


@dataclass
class Bench:
    """A cluster's stacks."""

    rehearsal: Rehearsal
    cluster: str = field(default_factory=lambda: f"c{uuid.uuid4().hex[:8]}")
    told: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def target(self) -> Target:
        return replace(
            embedded(self.rehearsal.aws.port), pace=Pace(0.2, self.clock.pause, self.clock.now, 20.0)
        )

    @property
    def api(self) -> Any:
        return self.rehearsal.aws.clients.of("cloudformation")

    def name(self, area: str) -> str:
        return f"{self.cluster}-{area}"

    def make(self, area: str, resources: dict[str, Any], tag: bool = True, **more: Any) -> str:
        """Make a stack; its status."""
        tags = [{"Key": CLUSTER_TAG, "Value": self.cluster}] if tag else []
        body = json.dumps({"Resources": resources})
        self.api.create_stack(
            StackName=self.name(area), TemplateBody=body, Tags=tags, Capabilities=CAPABILITIES, **more
        )
        return Stacks(self.api).settled(self.name(area)).status

    def update(self, area: str, resources: dict[str, Any]) -> str:
        """Change a stack; its status."""
        body = json.dumps({"Resources": resources})
        self.api.update_stack(StackName=self.name(area), TemplateBody=body, Capabilities=CAPABILITIES)
        return Stacks(self.api).settled(self.name(area)).status

    def status(self, area: str) -> str | None:
        found = self.target.aws.cloudformation.stack(self.name(area))
        return found.status if found else None
