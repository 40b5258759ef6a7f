"""Deleting a stack: only ours, only unprotected; what fails is named, mended and tried again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.unit.ops.stackbench import Bench, parameter
from unbroken.aws.cloudformation import CloudFormation, Stack, StackEvent
from unbroken.aws.ec2 import Ec2
from unbroken.aws.fsx import Fsx
from unbroken.aws.vpc import Interface
from unbroken.config import CLUSTER_TAG
from unbroken.ops.errors import CannotRun, CheckFailed
from unbroken.ops.remove_stack import remove
from unbroken.rehearsal.aws.failures import Failure
from unbroken.rehearsal.composition import Rehearsal


@pytest.fixture
def bench(rehearsal: Rehearsal) -> Iterator[Bench]:
    made = Bench(rehearsal)
    yield made
    rehearsal.aws.failures.clear()


def stack(bench: Bench, area: str = "network") -> Stack:
    found = bench.target.aws.cloudformation.stack(bench.name(area))
    assert found is not None
    return found


def bucket(bench: Bench) -> dict[str, object]:
    tags = [{"Key": CLUSTER_TAG, "Value": bench.cluster}]
    return {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": f"{bench.cluster}-b", "Tags": tags}}


def test_it_is_gone(bench: Bench) -> None:
    bench.make("network", {"P": parameter()})
    remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    assert bench.status("network") is None
    assert bench.told == [f"{bench.cluster}-network: P (AWS::SSM::Parameter) deleted"]


def test_without_our_tag_nothing_is_touched(bench: Bench) -> None:
    bench.make("network", {"P": parameter()}, tag=False)
    with pytest.raises(CannotRun, match="is not of this cluster"):
        remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    assert bench.status("network") == "CREATE_COMPLETE"


def test_a_protected_one_is_refused_with_how_to_lift_it(bench: Bench) -> None:
    bench.make("network", {"P": parameter()}, EnableTerminationProtection=True)
    with pytest.raises(CannotRun, match="termination protection is on") as refused:
        remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    assert "termination_protection: false" in refused.value.hint
    assert "--no-enable-termination-protection" in refused.value.hint
    assert bench.status("network") == "CREATE_COMPLETE"


def test_what_failed_is_named_and_tried_again(bench: Bench) -> None:
    bench.make("network", {"P": parameter()})
    bench.rehearsal.aws.failures.add(Failure("delete", "busy", logical_id="P"))
    remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    assert bench.status("network") is None
    assert 'P (AWS::SSM::Parameter) FAILED: Resource handler returned message: "busy"' in bench.told[0]


def test_what_never_goes_is_an_error_that_names_it(bench: Bench) -> None:
    bench.make("network", {"P": parameter()})
    bench.rehearsal.aws.failures.add(Failure("delete", "never", logical_id="P", always=True))
    with pytest.raises(CheckFailed, match=r"network could not be deleted: P .*never") as failed:
        remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    assert "unbroken down" in failed.value.hint


def test_a_bucket_of_ours_that_is_not_empty_is_emptied(bench: Bench) -> None:
    bench.make("storage", {"B": bucket(bench)})
    bench.rehearsal.aws.clients.s3.put_object(Bucket=f"{bench.cluster}-b", Key="late", Body=b"x")
    remove(bench.target, bench.cluster, stack(bench, "storage"), bench.told.append)
    assert bench.status("storage") is None
    assert f"{bench.cluster}-b: 1 object deleted" in bench.told


def test_interfaces_that_linger_are_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.9.0.0/16"}}
    group = {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"GroupDescription": "g", "VpcId": {"Ref": "Vpc"}},
    }
    bench.make("network", {"Vpc": vpc, "Group": group})
    endpoint = Interface("eni-1", "of an endpoint", "vpc_endpoint", ())
    lingering = [[Interface("eni-2", "HyperPod", "interface", ()), endpoint]] * 3
    answers = iter([*lingering, [endpoint]])
    monkeypatch.setattr(Ec2, "interfaces", lambda self, groups: next(answers))
    remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    assert bench.told[0] == "waiting for 1 network interfaces to go: eni-2 HyperPod"
    assert bench.clock.seconds == pytest.approx(0.6)
    assert bench.status("network") is None


def test_backups_of_what_was_never_used_go_with_the_failed_stack(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FSx backs an OpenZFS file system up as a rollback deletes it; one that was in use keeps its backups."""
    deleted: list[str] = []
    monkeypatch.setattr(Fsx, "backups", lambda self, file_system: ["backup-1"])
    monkeypatch.setattr(Fsx, "delete_backup", lambda self, backup: deleted.append(backup))
    real = type(bench.target.aws.cloudformation).stack_events

    def events(self: CloudFormation, name: str, after: str = "") -> list[StackEvent]:
        return [
            replace(one, resource_type="AWS::FSx::FileSystem", physical_id="fs-1")
            for one in real(self, name, after)
        ]

    bench.make("network", {"P": parameter()})
    remove(bench.target, bench.cluster, stack(bench), bench.told.append)
    bench.rehearsal.aws.failures.add(Failure("create", "no", logical_id="P"))
    bench.make("storage", {"P": parameter()})
    monkeypatch.setattr(CloudFormation, "stack_events", events)
    assert deleted == []
    remove(bench.target, bench.cluster, stack(bench, "storage"), bench.told.append)
    assert deleted == ["backup-1"]
