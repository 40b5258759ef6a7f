"""Which of several failures is told: the first in time that is a failure of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import pytest

from unbroken.aws import Aws
from unbroken.aws.cloudformation import Stack, StackEvent
from unbroken.ops.stages import StageFailed
from unbroken.ops.up.cause import cause
from unbroken.ops.up.watch import Watch

BEGAN = datetime(2026, 11, 30, tzinfo=timezone.utc)
CANCELLED = "Resource creation cancelled"


def failure(second: float, logical_id: str, reason: str = "") -> StackEvent:
    time = BEGAN + timedelta(seconds=second)
    words = reason or f"why {logical_id} failed"
    return StackEvent(time, logical_id, "AWS::SSM::Parameter", "CREATE_FAILED", words)


@dataclass
class Followed:
    """A stack's follower that has seen all there is."""

    name: str
    seen: list[StackEvent]

    def look(self) -> None:
        """Nothing is new."""


@dataclass
class Seen:
    """What cause() looks at of a Watch and of AWS."""

    followers: list[Followed]
    failed_nodes: dict[str, str] = field(default_factory=dict)

    @property
    def cloudformation(self) -> Any:
        return self

    def stack(self, name: str) -> Stack:
        return Stack(name, "ROLLBACK_COMPLETE", "", {})


def told(*stacks: Followed) -> str:
    seen = Seen(list(stacks))
    said = cause(cast("Watch", seen), cast("Aws", seen), StageFailed("what cdk said", "the log"))
    return said.message


NETWORK = Followed("ml-network", [failure(9.0, "Route")])
STORAGE = Followed("ml-storage", [failure(2.5, "FileSystem"), failure(2.6, "Bucket")])


@pytest.mark.parametrize("stacks", [(NETWORK, STORAGE), (STORAGE, NETWORK)])
def test_the_first_in_time_is_told_whatever_the_order_of_stacks(stacks: tuple[Followed, ...]) -> None:
    assert told(*stacks) == ("ml-storage: FileSystem (AWS::SSM::Parameter) failed: why FileSystem failed")


def test_of_two_at_once_in_a_stack_it_is_the_one_that_cloudformation_names_first() -> None:
    both = Followed("ml-storage", [failure(1.0, "Bucket"), failure(1.0, "FileSystem")])
    assert told(both).startswith("ml-storage: Bucket ")


def test_what_was_cancelled_for_anothers_sake_is_not_the_cause() -> None:
    stack = Followed("ml-storage", [failure(1.0, "Bucket", CANCELLED), failure(2.0, "FileSystem")])
    assert told(stack).startswith("ml-storage: FileSystem ")


def test_a_stack_that_failed_for_its_resources_sake_is_not_the_cause() -> None:
    stack = Followed("ml-storage", [failure(1.0, "ml-storage"), failure(2.0, "FileSystem")])
    assert told(stack).startswith("ml-storage: FileSystem ")
    assert told(Followed("ml-storage", [failure(1.0, "ml-storage")])) == "what cdk said"
