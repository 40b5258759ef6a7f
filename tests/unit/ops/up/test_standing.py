"""From which states `up` goes on, what it clears first, and what it leaves to the user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.ops.stackbench import Bench, parameter
from unbroken.ops.errors import CannotRun
from unbroken.ops.up.standing import clear, standing
from unbroken.rehearsal.aws.failures import Failure
from unbroken.rehearsal.aws.handlers import ResourceError
from unbroken.rehearsal.composition import Rehearsal

BUCKET = {"Type": "AWS::S3::Bucket"}


@pytest.fixture
def bench(rehearsal: Rehearsal) -> Iterator[Bench]:
    made = Bench(rehearsal)
    yield made
    rehearsal.aws.failures.clear()


def prepare(bench: Bench, *areas: str) -> None:
    found = standing(bench.target, bench.cluster, [bench.name(area) for area in areas], bench.told.append)
    clear(bench.target, bench.cluster, found, bench.told.append)


def fail(bench: Bench, at: Any, logical_id: str, always: bool = False) -> None:
    bench.rehearsal.aws.failures.add(Failure(at, "no", logical_id=logical_id, always=always))


def test_nothing_there_needs_nothing(bench: Bench) -> None:
    prepare(bench, "network")
    assert bench.told == []


def test_what_is_up_is_left_alone(bench: Bench) -> None:
    bench.make("network", {"P": parameter()})
    prepare(bench, "network")
    assert bench.status("network") == "CREATE_COMPLETE"


def test_a_stack_that_failed_to_be_made_is_deleted_first_and_said_so(bench: Bench) -> None:
    fail(bench, "create", "P")
    assert bench.make("network", {"P": parameter()}) == "ROLLBACK_COMPLETE"
    prepare(bench, "network")
    assert bench.status("network") is None
    assert "failed to be made before (ROLLBACK_COMPLETE); it is deleted first" in bench.told[0]


def test_so_is_one_that_was_protected_before_it_came_to_be(bench: Bench) -> None:
    fail(bench, "create", "P")
    assert bench.make("network", {"P": parameter()}, EnableTerminationProtection=True) == "ROLLBACK_COMPLETE"
    prepare(bench, "network")
    assert bench.status("network") is None


def test_one_whose_rollback_failed_is_too(bench: Bench) -> None:
    fail(bench, "create", "Second")
    fail(bench, "delete", "First")
    parts = {"First": parameter(), "Second": {**parameter(), "DependsOn": "First"}}
    assert bench.make("network", parts) == "ROLLBACK_FAILED"
    prepare(bench, "network")
    assert bench.status("network") is None


def test_a_failed_stack_that_holds_data_is_not(bench: Bench) -> None:
    fail(bench, "create", "P")
    parts = {"Data": {**BUCKET, "DeletionPolicy": "Retain"}, "P": {**parameter(), "DependsOn": "Data"}}
    assert bench.make("storage", parts) == "ROLLBACK_COMPLETE"
    with pytest.raises(CannotRun, match=r"still holds Data \(AWS::S3::Bucket ") as refused:
        prepare(bench, "storage")
    assert f"delete-stack --stack-name {bench.name('storage')}" in refused.value.hint
    assert bench.status("storage") == "ROLLBACK_COMPLETE"


def test_data_whose_first_deployment_failed_is_not_kept_where_the_template_says_so(bench: Bench) -> None:
    fail(bench, "create", "P")
    kept = {**BUCKET, "DeletionPolicy": "RetainExceptOnCreate"}
    bench.make("storage", {"Data": kept, "P": {**parameter(), "DependsOn": "Data"}})
    prepare(bench, "storage")
    assert bench.status("storage") is None


def test_anothers_stack_of_that_name_is_refused(bench: Bench) -> None:
    bench.make("network", {"P": parameter()}, tag=False)
    with pytest.raises(CannotRun, match="lacks the tag unbroken:cluster="):
        prepare(bench, "network")
    assert bench.status("network") == "CREATE_COMPLETE"


def test_one_that_was_only_prepared_is_deployed(bench: Bench) -> None:
    bench.api.create_change_set(
        StackName=bench.name("network"),
        ChangeSetName="c",
        ChangeSetType="CREATE",
        TemplateBody='{"Resources": {"P": {"Type": "AWS::SNS::Topic"}}}',
    )
    assert bench.status("network") == "REVIEW_IN_PROGRESS"
    prepare(bench, "network")
    assert "was prepared but never made" in bench.told[0]


def test_a_half_deleted_one_is_for_down(bench: Bench) -> None:
    bench.make("network", {"P": parameter()})
    fail(bench, "delete", "P")
    bench.target.aws.cloudformation.delete(bench.name("network"))
    assert bench.status("network") == "DELETE_FAILED"
    with pytest.raises(CannotRun, match="half deleted") as refused:
        prepare(bench, "network")
    assert "unbroken down" in refused.value.hint


def test_a_rollback_that_failed_is_explained(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second resource's update fails, and then the first one's cannot be taken back."""
    second = {"DependsOn": "First"}
    bench.make("network", {"First": parameter("1"), "Second": {**parameter("1"), **second}})
    updates: list[str] = []

    def strike(verb: str, _type: str, logical_id: str, _stack: str) -> None:
        updates.append(logical_id)
        if verb == "update" and (logical_id == "Second" or updates.count("First") == 2):
            raise ResourceError(f"no update of {logical_id}")

    monkeypatch.setattr(bench.rehearsal.aws.failures, "strike", strike)
    changed = {"First": parameter("2"), "Second": {**parameter("2"), **second}}
    assert bench.update("network", changed) == "UPDATE_ROLLBACK_FAILED"
    with pytest.raises(CannotRun, match="and so did its way back") as refused:
        prepare(bench, "network")
    assert "continue-update-rollback --stack-name" in refused.value.hint


def test_another_deployment_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.make("network", {"P": parameter()})
    target = bench.target
    there = target.aws.cloudformation.stack(bench.name("network"))
    assert there is not None
    statuses = iter(["UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"])
    real = type(target.aws.cloudformation).stack

    def stack(self: Any, name: str) -> Any:
        found = real(self, name)
        return replace(found, status=next(statuses)) if found else None

    monkeypatch.setattr(type(target.aws.cloudformation), "stack", stack)
    prepare(bench, "network")
    assert "another deployment is at work" in bench.told[0]
    assert bench.clock.seconds == pytest.approx(0.2)
