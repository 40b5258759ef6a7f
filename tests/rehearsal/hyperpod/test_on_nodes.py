"""The service on real machines in the embedded AWS: one controller, one worker, a small bundle."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from unbroken.rehearsal.aws.process import ServerInfo, ServerProcess
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.nodes import enter

pytestmark = [pytest.mark.nodes, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

REGION, BUCKET, PREFIX = "us-west-2", "sagemaker-on-nodes", "lifecycle/abc"
WAIT_SECONDS = 60.0
SCRIPT = f"""\
set -eu
test "$PWD" = /tmp/{BUCKET}/{PREFIX}
test "$(id -u)" = 0
test -d /opt/sagemaker_cluster
test -s /opt/ml/config/resource_config.json
test "$SAGEMAKER_RESOURCE_CONFIG_PATH" = /opt/ml/config/resource_config.json
systemctl is-active munge
if test -e /opt/ml/config/cluster_agent.json; then test -s /opt/slurm/etc/slurm.conf; fi
cat lib/words
echo run >>/root/runs
"""
PARAMETERS = {
    "version": "1.0.0",
    "workload_manager": "slurm",
    "controller_group": "head",
    "worker_groups": [{"instance_group_name": "workers", "partition_name": "dev"}],
}
LOGS = {"VpcEndpointType": "Interface"}
TRUST = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
BESIDES = ["ec2:*NetworkInterface*", "ec2:Describe*", "ec2:CreateTags", "logs:*"]
READ = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket", *BESIDES], "Resource": "*"}


class Account:
    """An account on a running server, with what a cluster needs."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.sagemaker, self.logs = self.client("sagemaker"), self.client("logs")
        ec2, s3 = self.client("ec2"), self.client("s3")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        tables = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
        for service in ("s3", "logs"):
            name = f"com.amazonaws.{REGION}.{service}"
            ids = [table["RouteTableId"] for table in tables]
            kind = {"VpcEndpointType": "Gateway", "RouteTableIds": ids} if service == "s3" else LOGS
            ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=name, **kind)
        self.subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.128.0/24")["Subnet"]["SubnetId"]
        self.other = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.64.0/24")["Subnet"]["SubnetId"]
        self.group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)["GroupId"]
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        files = {
            "on_create.sh": SCRIPT,
            "lib/words": "hello\n",
            "provisioning_parameters.json": json.dumps(PARAMETERS),
        }
        for name, text in files.items():
            s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}/{name}", Body=text.encode())

    def client(self, name: str) -> Any:
        return boto3.client(
            name,
            region_name=REGION,
            endpoint_url=f"http://127.0.0.1:{self.server.port}",
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106  (any will do)
            config=Config(retries={"max_attempts": 0}, proxies={}),
        )

    def role(self, name: str, *statements: dict[str, Any]) -> str:
        iam = self.client("iam")
        trust = json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
        arn = str(iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"])
        if statements:
            policy = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
            iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=policy)
        return arn

    def create(self, name: str, role: str) -> None:
        self.sagemaker.create_cluster(
            ClusterName=name,
            InstanceGroups=[
                {
                    "InstanceGroupName": group,
                    "InstanceCount": 1,
                    "InstanceType": "ml.m5.large",
                    "ExecutionRole": role,
                    "LifeCycleConfig": {
                        "SourceS3Uri": f"s3://{BUCKET}/{PREFIX}/",
                        "OnCreate": "on_create.sh",
                    },
                    **self.place(group),
                }
                for group in ("head", "workers")
            ],
            VpcConfig={"Subnets": [self.subnet], "SecurityGroupIds": [self.group]},
        )

    def place(self, group: str) -> dict[str, Any]:
        """Workers have a subnet of their own."""
        own = {"Subnets": [self.other], "SecurityGroupIds": [self.group]}
        return {"OverrideVpcConfig": own} if group == "workers" else {}

    def settled(self, name: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = self.sagemaker.describe_cluster(ClusterName=name)
            return found if found["ClusterStatus"] in ("InService", "Failed") else None

        return until(look, f"cluster {name} to settle")

    def worker(self, status: str = "Running") -> dict[str, Any]:
        """The worker's row of nodes.json once it has this status."""

        def look() -> dict[str, Any] | None:
            rows = json.loads((self.server.state / "nodes.json").read_text())
            [row] = [row for row in rows if row["group"] == "workers"]
            return dict(row) if row["status"] == status else None

        return until(look, f"the worker to be {status}")

    def on_worker(self, command: str) -> str:
        info = ServerInfo.read(self.server.state)
        assert info is not None
        argv = enter.command(info.pid, self.worker()["inner_pid"], ["sh", "-c", command])
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def until(look: Callable[[], dict[str, Any] | None], what: str) -> dict[str, Any]:
    """What ``look`` finds, in time."""
    deadline = time.monotonic() + WAIT_SECONDS
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"waited {WAIT_SECONDS:g} s for {what}"
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    state: Path = tmp_path_factory.mktemp("hyperpod")
    with ServerProcess(state, REGION, reduced=False) as server:
        yield Account(server)


def test_create_reboot_replace_delete(account: Account) -> None:
    account.create("on-nodes", account.role("reads", READ))
    assert account.settled("on-nodes")["ClusterStatus"] == "InService"
    first = account.worker()
    [stream] = account.logs.describe_log_streams(
        logGroupName=log_group(account), logStreamNamePrefix=f"LifecycleConfig/workers/{first['instance_id']}"
    )["logStreams"]
    events = account.logs.get_log_events(
        logGroupName=log_group(account), logStreamName=stream["logStreamName"]
    )
    lines = [event["message"] for event in events["events"]]
    assert lines == [messages.LOG_DOWNLOADING, "active", "hello", messages.LOG_SUCCEEDED]

    assert first["ip"].startswith("10.0.64."), "the worker is in its group's own subnet"
    assert account.on_worker("ping -c 1 -W 2 10.0.128.10 >/dev/null && echo reached") == "reached"
    nodes = [first["instance_id"]]
    answer = account.sagemaker.batch_reboot_cluster_nodes(ClusterName="on-nodes", NodeIds=nodes)
    assert answer["Successful"] == nodes
    account.worker("Pending")
    assert account.worker()["instance_id"] == first["instance_id"]
    assert account.on_worker("cat /root/runs; hostname") == f"run\n{first['name']}"

    account.on_worker("touch /root/mine")
    account.sagemaker.batch_replace_cluster_nodes(ClusterName="on-nodes", NodeIds=nodes)
    account.worker("Pending")
    second = account.worker()
    assert (second["name"], second["ip"]) == (first["name"], first["ip"])
    assert second["instance_id"] != first["instance_id"]
    assert account.on_worker("cat /root/runs; hostname; ls /root/mine 2>/dev/null || echo fresh") == (
        f"run\n{first['name']}\nfresh"
    )
    account.sagemaker.delete_cluster(ClusterName="on-nodes")
    until(lambda: {} if not account.sagemaker.list_clusters()["ClusterSummaries"] else None, "the deletion")
    assert account.client("ec2").describe_network_interfaces()["NetworkInterfaces"] == []


def test_a_role_that_may_not_read_fails_the_boot(account: Account) -> None:
    account.create("denied", account.role("reads-nothing", {**READ, "Action": BESIDES}))
    found = account.settled("denied")
    assert (found["ClusterStatus"], found["FailureMessage"]) == ("Failed", messages.LIFECYCLE_FAILED)
    account.sagemaker.delete_cluster(ClusterName="denied")


def log_group(account: Account) -> str:
    arn = account.sagemaker.describe_cluster(ClusterName="on-nodes")["ClusterArn"]
    return f"/aws/sagemaker/Clusters/on-nodes/{arn.rsplit('/', 1)[1]}"
