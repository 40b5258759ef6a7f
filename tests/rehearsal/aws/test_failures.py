"""Resources that are told to fail."""

from __future__ import annotations

from tests.rehearsal.aws.network import ref, resource, vpc
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.failures import Failure, Failures

BUCKET = {"Bucket": resource("AWS::S3::Bucket")}


def test_a_create_fails_once(stacks: Stacks, failures: Failures) -> None:
    failures.add(Failure("create", "no room", logical_id="Subnet"))
    failed = stacks.create(vpc())
    assert failed.status == "ROLLBACK_COMPLETE"
    assert any('message: "no room"' in reason for reason in failed.reasons)
    assert failures.clear() == []
    assert stacks.delete(failed.name).status == "DELETE_COMPLETE"
    again = stacks.create(vpc())
    assert again.status == "CREATE_COMPLETE", again.reasons
    stacks.delete(again.name)


def test_an_update_fails_and_rolls_back(stacks: Stacks, failures: Failures) -> None:
    made = stacks.create(BUCKET, {"Name": ref("Bucket")})
    failures.add(Failure("update", "not now", type_name="AWS::S3::Bucket"))
    versioned = {"Bucket": resource("AWS::S3::Bucket", VersioningConfiguration={"Status": "Enabled"})}
    assert stacks.update(made.name, versioned).status == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.update(made.name, versioned).status == "UPDATE_COMPLETE"
    stacks.delete(made.name)


def test_a_delete_fails_until_it_is_cleared(stacks: Stacks, failures: Failures) -> None:
    made = stacks.create(BUCKET)
    lasting = Failure("delete", "in use", stack_name=made.name, always=True)
    failures.add(lasting)
    for _ in range(2):
        failed = stacks.delete(made.name)
        assert failed.status == "DELETE_FAILED"
        assert any('message: "in use"' in reason for reason in failed.reasons)
    assert failures.clear() == [lasting]
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_only_what_is_meant_fails(failures: Failures) -> None:
    failures.add(Failure("create", "x", type_name="AWS::S3::Bucket", stack_name="one"))
    failures.strike("create", "AWS::S3::Bucket", "Any", "other")
    failures.strike("delete", "AWS::S3::Bucket", "Any", "one")
    failures.strike("create", "AWS::EC2::VPC", "Any", "one")
    assert len(failures.clear()) == 1
