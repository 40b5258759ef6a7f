"""The exported templates deploy without bootstrap: by plain calls, and by their own script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.rehearsal.aws.support import Stacks
from tests.unit.ops.export.conftest import CLUSTER, REGION, Bash
from unbroken.config.load import loads
from unbroken.ops.export import hyperpod
from unbroken.ops.outputs import Outputs
from unbroken.ops.target import on_embedded
from unbroken.rehearsal.aws.inventory import Inventory, inventory, leftovers

if TYPE_CHECKING:
    from unbroken.rehearsal.composition import Rehearsal

Client = Callable[[str], Any]
SECONDS = 30.0
AREAS = ("network", "storage", "identity", "cluster")


@cache
def aws_cli() -> str:
    """Why the AWS CLI cannot be used here; empty if it can. Version 2's own Python cannot be hurried."""
    program = shutil.which("aws")
    if program is None:
        return "the AWS CLI is not installed"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return "" if said.startswith("aws-cli/1") else "the AWS CLI is not version 1"


@pytest.fixture
def before(rehearsal: Rehearsal, client: Client) -> Iterator[Inventory]:
    """What there is before; whatever a failed test left is removed after it."""
    yield inventory(rehearsal.aws.port, REGION)
    cloudformation = client("cloudformation")
    for stack in cloudformation.describe_stacks()["Stacks"]:
        if stack["StackName"].startswith("exported-"):
            cloudformation.update_termination_protection(
                StackName=stack["StackName"], EnableTerminationProtection=False
            )
            cloudformation.delete_stack(StackName=stack["StackName"])


def left(before: Inventory, rehearsal: Rehearsal) -> list[str]:
    found = leftovers(before, inventory(rehearsal.aws.port, REGION)).unexpected
    return [f"{item.kind} {item.identifier}" for item in found]


def create(stacks: Stacks, area: str, exported: Path) -> dict[str, str]:
    """Make one stack from its file alone; its outputs."""
    [path] = exported.glob(f"?-{area}.json")
    stacks.api.create_stack(
        StackName=f"exported-{area}", TemplateBody=path.read_text(), Capabilities=["CAPABILITY_IAM"]
    )
    made = stacks.settled(f"exported-{area}")
    assert made.status == "CREATE_COMPLETE", made.reasons
    return made.outputs


def copy(exported: Path, client: Client, bucket: str, outputs: dict[str, str]) -> None:
    """What the script's upload does, by plain calls."""
    hashes = re.findall(r"(?:lifecycle|training)/[0-9a-f]{16}/", (exported / "deploy.sh").read_text())
    for prefix in set(hashes):
        folder = exported / prefix.split("/")[0]
        for path in (one for one in folder.rglob("*") if one.is_file()):
            key = f"{prefix}{path.relative_to(folder).as_posix()}"
            client("s3").put_object(Bucket=bucket, Key=key, Body=path.read_bytes())
    [lifecycle] = {prefix for prefix in hashes if prefix.startswith("lifecycle/")}
    for path in (exported / "values").iterdir():
        text = re.sub(r"@@storage\.(\w+)@@", lambda found: outputs[found[1]], path.read_text())
        client("s3").put_object(Bucket=bucket, Key=f"{lifecycle}{path.name}", Body=text.encode())


def empty(client: Client, bucket: str) -> None:
    for page in client("s3").get_paginator("list_object_versions").paginate(Bucket=bucket):
        for one in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
            client("s3").delete_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])


def test_by_plain_calls(exported: Path, client: Client, before: Inventory, rehearsal: Rehearsal) -> None:
    stacks = Stacks(client("cloudformation"))
    create(stacks, "network", exported)
    storage = create(stacks, "storage", exported)
    create(stacks, "identity", exported)
    copy(exported, client, storage["LifecycleBucketName"], storage)
    cluster = create(stacks, "cluster", exported)
    described = client("sagemaker").describe_cluster(ClusterName=cluster["ClusterArn"])
    assert described["ClusterStatus"] == "InService"
    told = hyperpod_files(rehearsal)
    assert told["VpcConfig"] == described["VpcConfig"]
    [mine] = [group for group in told["InstanceGroups"] if group["InstanceGroupName"] == "w"]
    [its] = [group for group in described["InstanceGroups"] if group["InstanceGroupName"] == "w"]
    assert (mine["ExecutionRole"], mine["LifeCycleConfig"]) == (its["ExecutionRole"], its["LifeCycleConfig"])
    assert stacks.delete("exported-cluster").status == "DELETE_COMPLETE"
    by_request(client, told)
    empty(client, storage["LifecycleBucketName"])
    for area in reversed(AREAS[:-1]):
        assert stacks.delete(f"exported-{area}").status == "DELETE_COMPLETE"
    assert left(before, rehearsal) == []


def by_request(client: Client, request: dict[str, Any]) -> None:
    """The cluster once more, by CreateCluster with the exported request, and gone again."""
    sagemaker = client("sagemaker")
    sagemaker.create_cluster(**request)
    name, seen = request["ClusterName"], ""
    deadline = time.monotonic() + SECONDS
    while seen != "InService":
        assert time.monotonic() < deadline, seen
        seen = sagemaker.describe_cluster(ClusterName=name)["ClusterStatus"]
        time.sleep(0.01)
    sagemaker.delete_cluster(ClusterName=name)
    while sagemaker.list_clusters(NameContains=name)["ClusterSummaries"]:
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.01)


def test_without_the_files_there_is_no_cluster(exported: Path, client: Client, before: Inventory) -> None:
    """So that the upload above is no show."""
    stacks = Stacks(client("cloudformation"))
    for area in AREAS[:-1]:
        create(stacks, area, exported)
    with pytest.raises(AssertionError, match="ROLLBACK"):
        create(stacks, "cluster", exported)


def hyperpod_files(rehearsal: Rehearsal) -> dict[str, Any]:
    """cluster-config.json of what is deployed."""
    target = on_embedded(rehearsal.aws.port, REGION)
    config = loads(CLUSTER, Path("cluster.yaml"))
    texts = hyperpod.files(config, Outputs(target.aws, config))
    found: dict[str, Any] = json.loads(texts["cluster-config.json"])
    return found


def take_down(exported: Path) -> str:
    """The commands that the page gives for the end."""
    [found] = re.findall(r"```bash\n(.*?)```", (exported / "README.md").read_text(), re.DOTALL)
    return str(found)


@pytest.mark.skipif(bool(aws_cli()), reason=aws_cli() or "-")
def test_by_its_own_script_and_back(
    exported: Path, client: Client, bash: Bash, before: Inventory, rehearsal: Rehearsal
) -> None:
    done = bash(str(exported / "deploy.sh"))
    assert done.returncode == 0, done.stderr
    stacks = {each["StackName"]: each for each in client("cloudformation").describe_stacks()["Stacks"]}
    for area in AREAS:
        stack = stacks[f"exported-{area}"]
        assert stack["EnableTerminationProtection"] is True
        tags = {tag["Key"]: tag["Value"] for tag in stack["Tags"]}
        assert tags == {"team": "research + development", "unbroken:cluster": "exported"}
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stacks["exported-storage"]["Outputs"]}
    uri = stacks["exported-cluster"]["Outputs"][-1]["OutputValue"]
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    told = client("s3").get_object(Bucket=bucket, Key=f"{prefix}deployed.json")["Body"].read()
    assert json.loads(told)["fsx_dns_name"] == outputs["FileSystemDnsName"]
    assert json.loads(told)["data_bucket"] == outputs["DataBucketName"]
    client("s3").put_object(Bucket=outputs["DataBucketName"], Key="data/kept", Body=b"1")
    ended = bash("-c", take_down(exported))
    assert ended.returncode == 0, ended.stderr
    assert left(before, rehearsal) == []
