"""Progress and the real cause of a failure, seen on the embedded AWS while something else deploys there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from tests.rehearsal.aws.test_cluster import LIST_ONLY, parts
from tests.unit.ops.stackbench import REGION, Bench, parameter
from unbroken import config
from unbroken.aws.session import AwsError
from unbroken.ops.cdk import Cdk
from unbroken.ops.stages import StageFailed
from unbroken.ops.synth import Assembly
from unbroken.ops.up.deploy import deploy
from unbroken.rehearsal.aws.failures import Failure
from unbroken.rehearsal.composition import Rehearsal

CLUSTER = "name: {name}\nworker_groups:\n  - {{name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}}\n"


@dataclass
class PlainCdk:
    """Deploys as cdk does, by plain calls, one stack after another in an order of its own."""

    bench: Bench
    stacks: dict[str, dict[str, Any]]
    deployed: list[str] = field(default_factory=list)

    def deploy(self, folder: Path, done: Callable[[str], None], poll: Callable[[], None]) -> None:
        for area, resources in reversed(self.stacks.items()):
            poll()
            status = self.bench.make(area, resources)
            self.bench.clock.pause(1.0)
            poll()
            if status != "CREATE_COMPLETE":
                raise StageFailed("cdk deploy ended with exit code 1: what cdk said", "the log")
            done(self.bench.name(area))
            self.deployed.append(area)


@pytest.fixture
def bench(rehearsal: Rehearsal) -> Any:
    made = Bench(rehearsal)
    yield made
    rehearsal.aws.failures.clear()


@pytest.fixture
def bundle(bench: Bench) -> Any:
    """A bucket with a lifecycle script in it."""
    s3, name = bench.rehearsal.aws.clients.s3, f"sagemaker-{bench.cluster}"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket=name, Key="b/on_create.sh", Body=b"true")
    yield f"s3://{name}/b/"
    bench.target.aws.s3.empty(name)
    s3.delete_bucket(Bucket=name)


def up(bench: Bench, tmp_path: Path, stacks: dict[str, dict[str, Any]]) -> PlainCdk:
    artifacts = {
        bench.name(area): {
            "type": "aws:cloudformation:stack",
            "properties": {"templateFile": "t", "stackName": bench.name(area)},
        }
        for area in stacks
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    declared = config.loads(CLUSTER.format(name=bench.cluster), Path("c.yaml"))
    cdk = PlainCdk(bench, stacks)
    deploy(bench.target, cast("Cdk", cdk), Assembly(tmp_path), declared, bench.told.append)
    return cdk


def test_each_resource_is_told_once_whatever_the_order_of_stacks(bench: Bench, tmp_path: Path) -> None:
    up(bench, tmp_path, {"network": {"A": parameter()}, "storage": {"B": parameter()}})
    assert bench.told == [
        f"{bench.cluster}-storage: B (AWS::SSM::Parameter) created",
        f"stack {bench.cluster}-storage is ready",
        f"{bench.cluster}-network: A (AWS::SSM::Parameter) created",
        f"stack {bench.cluster}-network is ready",
    ]


def test_the_first_resource_that_failed_is_the_cause(bench: Bench, tmp_path: Path) -> None:
    bench.rehearsal.aws.failures.add(Failure("create", "no more of these", logical_id="Second"))
    resources = {"First": parameter(), "Second": {**parameter(), "DependsOn": "First"}}
    with pytest.raises(
        StageFailed, match=r"network: Second \(AWS::SSM::Parameter\) failed: .*no more"
    ) as failed:
        up(bench, tmp_path, {"network": resources})
    assert "is ROLLBACK_COMPLETE; mend the cause, then run `unbroken up` again" in failed.value.hint


def test_it_can_be_deployed_again_after_a_failure(bench: Bench, tmp_path: Path) -> None:
    bench.rehearsal.aws.failures.add(Failure("create", "no", logical_id="A"))
    with pytest.raises(StageFailed):
        up(bench, tmp_path, {"network": {"A": parameter()}})
    up(bench, tmp_path, {"network": {"A": parameter()}})
    assert bench.status("network") == "CREATE_COMPLETE"


def test_where_no_resource_failed_cdks_own_words_stand(bench: Bench, tmp_path: Path) -> None:
    class Refusing(PlainCdk):
        def deploy(self, *_: Any) -> None:
            raise StageFailed("cdk deploy ended with exit code 1: not bootstrapped", "the log")

    (tmp_path / "manifest.json").write_text(
        '{"artifacts": {"c-a": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "t"}}}}'
    )
    declared = config.loads(CLUSTER.format(name=bench.cluster), Path("c.yaml"))
    with pytest.raises(StageFailed, match="not bootstrapped"):
        deploy(
            bench.target, cast("Cdk", Refusing(bench, {})), Assembly(tmp_path), declared, bench.told.append
        )


def test_progress_that_is_denied_does_not_stop_the_deployment(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: Any, **__: Any) -> Any:
        raise AwsError("DescribeStackEvents: no (AccessDenied)", "h", "AccessDenied", "no", denied=True)

    monkeypatch.setattr(type(bench.target.aws.cloudformation), "stack_events", denied)
    cdk = up(bench, tmp_path, {"network": {"A": parameter()}})
    assert cdk.deployed == ["network"]
    assert [line for line in bench.told if "progress is not seen" in line] == [
        "progress is not seen: DescribeStackEvents: no (AccessDenied)"
    ]


def test_of_a_cluster_the_nodes_last_words_are_told(bench: Bench, tmp_path: Path, bundle: str) -> None:
    """The role may not read the bundle: HyperPod's message says nothing of it, the node's log does."""
    resources = parts(bundle, bench.cluster, statements=LIST_ONLY)
    with pytest.raises(StageFailed, match="Lifecycle scripts did not run successfully") as failed:
        up(bench, tmp_path, {"cluster": resources})
    node, said = failed.value.message.splitlines()[-1].split(": ", 1)
    assert node.startswith("head/i-") and said
    assert failed.value.log_lines


def test_the_log_group_of_a_failed_cluster_does_not_cost_for_ever(
    bench: Bench, tmp_path: Path, bundle: str
) -> None:
    resources = parts(bundle, bench.cluster, statements=LIST_ONLY)
    with pytest.raises(StageFailed):
        up(bench, tmp_path, {"cluster": resources})
    [group] = bench.target.aws.logs.groups(f"/aws/sagemaker/Clusters/{bench.cluster}/")
    assert group.retention_days == 30
    assert bench.target.aws.logs.tags(group.arn) == {"unbroken:cluster": bench.cluster}
