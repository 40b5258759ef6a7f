"""HyperPod's own files of a deployed cluster: as its API and the workshop's tools read them, or none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.stub import Stubber
from botocore.validate import ParamValidator

from unbroken import config
from unbroken.aws.facade import Aws, over
from unbroken.aws.session import Session, with_keys
from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun
from unbroken.ops.export import hyperpod
from unbroken.ops.export.folder import whole_files
from unbroken.ops.outputs import Outputs

CLUSTERS = Path(__file__).resolve().parents[4] / "clusters"
VALUES = {
    "network": {
        "VpcId": "vpc-0123456789abcdef0",
        "PrivateSubnetId": "subnet-0123456789abcdef0",
        "SecurityGroupId": "sg-0123456789abcdef0,sg-1123456789abcdef0",
        "SubnetSpareZoneId": "subnet-1123456789abcdef0",
    },
    "storage": {
        "FileSystemId": "fs-0123456789abcdef0",
        "FileSystemDnsName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        "FileSystemMountName": "abcdef01",
        "HomeDnsName": "fs-1123456789abcdef0.fsx.us-west-2.amazonaws.com",
        "LifecycleBucketName": "sagemaker-ml-0123ab-111122223333-us-west-2",
        "KmsKeyArn": "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    },
    "identity": {"ExecutionRoleArn": "arn:aws:iam::111122223333:role/path/nodes"},
    "cluster": {
        "LifecycleUri": "s3://sagemaker-ml-0123ab-111122223333-us-west-2/lifecycle/0123456789abcdef/"
    },
}


def deployed(cluster: ClusterConfig, values: Mapping[str, Mapping[str, str] | None]) -> tuple[Aws, Stubber]:
    """An AWS that tells of these stacks, each once, in the order in which it is asked; None: not there."""
    aws = over(Session(cluster.region, boto=with_keys("key", "secret")))
    stub = Stubber(aws.session.client("cloudformation"))
    for area, outputs in values.items():
        name = f"{cluster.name}-{area}"
        if outputs is None:
            said = f"Stack with id {name} does not exist"
            stub.add_client_error(
                "describe_stacks", "ValidationError", said, expected_params={"StackName": name}
            )
            continue
        listed = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
        stack = {"StackName": name, "CreationTime": "2026-01-01", "StackStatus": "CREATE_COMPLETE"}
        stub.add_response("describe_stacks", {"Stacks": [{**stack, "Outputs": listed}]}, {"StackName": name})
    stub.activate()
    return aws, stub


ORDER = ("identity", "network", "cluster", "storage")


def files(name: str, **changes: Mapping[str, str] | None) -> dict[str, str]:
    cluster = config.load(CLUSTERS / f"{name}.yaml")
    values = VALUES | changes
    aws, _ = deployed(cluster, {area: values[area] for area in ORDER})
    return hyperpod.files(cluster, Outputs(aws, cluster))


@pytest.mark.parametrize("name", ["mathstral", "everything", "api", "small"])
def test_the_request_is_one_that_create_cluster_takes(name: str) -> None:
    request = json.loads(files(name)["cluster-config.json"])
    shape = get_session().get_service_model("sagemaker").operation_model("CreateCluster").input_shape
    assert ParamValidator().validate(request, shape).generate_report() == ""
    assert {"Key": "unbroken:cluster", "Value": request["ClusterName"]} in request["Tags"]


def test_it_carries_what_is_deployed() -> None:
    request = json.loads(files("everything")["cluster-config.json"])
    assert request["VpcConfig"] == {
        "SecurityGroupIds": ["sg-0123456789abcdef0", "sg-1123456789abcdef0"],
        "Subnets": ["subnet-0123456789abcdef0"],
    }
    spot = next(group for group in request["InstanceGroups"] if group["InstanceGroupName"] == "spot")
    assert spot["OverrideVpcConfig"]["Subnets"] == ["subnet-1123456789abcdef0"]
    assert VALUES["storage"]["KmsKeyArn"] in json.dumps(request)


def test_provisioning_parameters_have_one_key_a_line() -> None:
    text = files("mathstral")["provisioning_parameters.json"]
    assert all(line.count('":') <= 1 or "instance_group_name" in line for line in text.splitlines())
    assert json.loads(text)["fsx_mountname"] == "abcdef01"


def test_in_api_mode_there_is_no_such_file() -> None:
    assert set(files("api")) == {"cluster-config.json", "env_vars"}


def test_the_variables_are_those_of_the_workshop() -> None:
    lines = dict(
        line.removeprefix("export ").split("=", 1) for line in files("small")["env_vars"].splitlines()
    )
    assert lines == {
        "AWS_REGION": "us-west-2",
        "INSTANCES": config.load(CLUSTERS / "small.yaml").worker_groups[0].instance_type,
        "VPC_ID": "vpc-0123456789abcdef0",
        "SUBNET_ID": "subnet-0123456789abcdef0",
        "FSX_ID": "fs-0123456789abcdef0",
        "FSX_MOUNTNAME": "abcdef01",
        "SECURITY_GROUP": "sg-0123456789abcdef0",
        "ROLE": "arn:aws:iam::111122223333:role/path/nodes",
        "ROLENAME": "nodes",
        "BUCKET": "sagemaker-ml-0123ab-111122223333-us-west-2",
    }


def test_a_stack_that_is_not_there_is_named() -> None:
    said = "stack ml-cluster-cluster is not deployed in us-west-2, and LifecycleUri is its output"
    with pytest.raises(CannotRun, match=said):
        files("mathstral", cluster=None)


@pytest.mark.parametrize("value", [{}, {"ExecutionRoleArn": ""}])
def test_a_value_that_is_missing_is_named(value: dict[str, str]) -> None:
    with pytest.raises(
        CannotRun, match="stack ml-cluster-identity in us-west-2 has no output ExecutionRoleArn"
    ):
        files("mathstral", identity=value)


def test_nothing_is_written_where_a_value_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = config.load(CLUSTERS / "mathstral.yaml")
    aws, stub = deployed(cluster, {area: VALUES[area] for area in ORDER[:-1]} | {"storage": {}})

    def target(*_: object) -> tuple[Path, ClusterConfig, Any]:
        return CLUSTERS / "mathstral.yaml", cluster, type("Where", (), {"aws": aws})

    monkeypatch.setattr(hyperpod, "chosen", target)
    with pytest.raises(CannotRun, match="has no output FileSystemDnsName"):
        hyperpod.export(None, "aws", None, tmp_path / "out")
    stub.assert_no_pending_responses()
    assert not (tmp_path / "out").exists()


def test_other_files_of_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    whole_files(tmp_path, {"env_vars": "a"})
    whole_files(tmp_path, {"env_vars": "b"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"notes": "mine", "env_vars": "b"}
