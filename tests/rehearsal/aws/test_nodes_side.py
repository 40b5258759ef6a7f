"""What a node reaches: instance metadata, AWS APIs with its role evaluated, and the service's own port."""

from __future__ import annotations

import http.client
import json
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import ref, role, vpc
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.gateway.apis import NodeApis
from unbroken.rehearsal.aws.gateway.http import Answer, Request, Server
from unbroken.rehearsal.aws.gateway.imds import MetadataService
from unbroken.rehearsal.aws.gateway.internal import InternalPort
from unbroken.rehearsal.aws.gateway.nodes import Directory
from unbroken.rehearsal.composition import Rehearsal
from unbroken.rehearsal.hyperpod.machines import MachineSpec

Client = Callable[[str], Any]
LOOPBACK = "127.0.0.1"


def spec(role_name: str, address: str = LOOPBACK) -> MachineSpec:
    instance = f"i-{uuid.uuid4().hex[:17]}"
    return MachineSpec(
        "ip-10-0-128-10", address, 17, "10.0.128.1", "ml.p4de.24xlarge", instance, role_name, 8, 0, 0
    )


def zone(_address: str) -> str:
    return "us-west-2d"


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], int]]:
    """Serves an answer on a loopback port of its own."""
    servers: list[Server] = []

    def start(answer: Answer) -> int:
        listening = socket.create_server((LOOPBACK, 0))
        servers.append(Server(listening, answer, "test"))
        servers[-1].start()
        return int(listening.getsockname()[1])

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def bucket(client: Client) -> Iterator[str]:
    """A bucket of a name the managed policy grants, with one object."""
    name = f"sagemaker-{uuid.uuid4().hex[:8]}"
    client("s3").create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    client("s3").put_object(Bucket=name, Key="lifecycle/x", Body=b"content")
    yield name
    client("s3").delete_object(Bucket=name, Key="lifecycle/x")
    client("s3").delete_bucket(Bucket=name)


def ask(port: int, method: str, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    connection.request(method, path, headers=dict(headers or {}))
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def token(port: int, ttl: int = 60) -> dict[str, str]:
    ttl_header = {"X-aws-ec2-metadata-token-ttl-seconds": str(ttl)}
    return {"X-aws-ec2-metadata-token": ask(port, "PUT", "/latest/api/token", ttl_header)[1]}


@pytest.mark.behaviour("HP214")
def test_metadata_needs_a_token_of_this_node_that_has_not_run_out(rehearsal: Rehearsal) -> None:
    now = 0.0
    directory = Directory()
    directory.add(spec("r", "10.0.128.10"))
    directory.add(spec("r", "10.0.128.11"))
    service = MetadataService(directory, rehearsal.sessions, "us-west-2", zone, lambda: now)

    def get(client: str, held: str) -> int:
        headers = {"x-aws-ec2-metadata-token": held} if held else {}
        return service(Request("GET", "/latest/meta-data/instance-id", headers, b"", client)).status

    def put(ttl: str) -> Any:
        headers = {"x-aws-ec2-metadata-token-ttl-seconds": ttl} if ttl else {}
        return service(Request("PUT", "/latest/api/token", headers, b"", "10.0.128.10"))

    held = put("60").body.decode()
    assert (get("10.0.128.10", held), get("10.0.128.10", ""), get("10.0.128.11", held)) == (200, 401, 401)
    assert get("10.0.0.9", held) == 404
    assert [put(ttl).status for ttl in ("", "0", "21601", "x")] == [400, 400, 400, 400]
    now = 61.0
    assert get("10.0.128.10", held) == 401


def test_metadata_items_and_identity(rehearsal: Rehearsal, serve: Callable[[Answer], int]) -> None:
    directory = Directory()
    node = spec("r")
    directory.add(node)
    port = serve(MetadataService(directory, rehearsal.sessions, "us-west-2", zone))
    held = token(port)
    assert ask(port, "GET", "/latest/meta-data/instance-id", held) == (200, node.instance_id)
    listing = ask(port, "GET", "/latest/meta-data/", held)[1].splitlines()
    assert {"iam/", "instance-id", "placement/"} <= set(listing)
    assert ask(port, "GET", "/latest/meta-data/placement/region", held) == (200, "us-west-2")
    assert ask(port, "GET", "/latest/meta-data/placement/availability-zone-id", held) == (200, "usw2-az4")
    identity = json.loads(ask(port, "GET", "/latest/dynamic/instance-identity/document", held)[1])
    assert (identity["instanceId"], identity["region"]) == (node.instance_id, "us-west-2")
    assert ask(port, "GET", "/latest/meta-data/nothing", held)[0] == 404
    assert ask(port, "GET", "/latest/user-data", held)[0] == 404


class NodeSide:
    """A node's clients: credentials from instance metadata, requests through the gateway."""

    def __init__(self, rehearsal: Rehearsal, serve: Callable[[Answer], int], role_name: str) -> None:
        directory = Directory()
        self.spec = spec(role_name)
        directory.add(self.spec)
        metadata = serve(MetadataService(directory, rehearsal.sessions, "us-west-2", zone))
        self.gateway = serve(NodeApis(rehearsal.aws.port, rehearsal.sessions, rehearsal.permissions))
        path = f"/latest/meta-data/iam/security-credentials/{role_name}"
        self.credentials = json.loads(ask(metadata, "GET", path, token(metadata))[1])

    def client(self, service: str, **changes: str) -> Any:
        held = self.credentials | changes
        return botocore.session.Session().create_client(
            service,
            region_name="us-west-2",
            endpoint_url=f"http://{LOOPBACK}:{self.gateway}",
            aws_access_key_id=held["AccessKeyId"],
            aws_secret_access_key=held["SecretAccessKey"],
            aws_session_token=held["Token"],
            config=Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
        )


@pytest.mark.behaviour("HP215")
def test_a_node_acts_with_its_role(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int], bucket: str
) -> None:
    made = stacks.create({"Role": role(managed=True)}, {"Name": ref("Role")})
    node = NodeSide(rehearsal, serve, made.outputs["Name"])
    assert (node.credentials["Code"], node.credentials["Type"]) == ("Success", "AWS-HMAC")
    caller = node.client("sts").get_caller_identity()
    assert caller["Arn"].endswith(f"assumed-role/{made.outputs['Name']}/{node.spec.instance_id}")
    s3 = node.client("s3")
    assert s3.get_object(Bucket=bucket, Key="lifecycle/x")["Body"].read() == b"content"
    assert s3.head_object(Bucket=bucket, Key="lifecycle/x")["ContentLength"] == len(b"content")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
    stacks.delete(made.name)


@pytest.mark.behaviour("HP216")
def test_a_node_may_do_what_its_role_may_and_no_more(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, serve: Callable[[Answer], int], bucket: str
) -> None:
    read = {"Effect": "Allow", "Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"}
    boundary = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}],
    }
    limit = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": boundary}}
    parts = {"Role": role(read), "Limited": role(read), "Limit": limit}
    parts["Limited"]["Properties"]["PermissionsBoundary"] = ref("Limit")
    made = stacks.create(parts, {"Role": ref("Role"), "Limited": ref("Limited")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    node = NodeSide(rehearsal, serve, made.outputs["Role"])
    s3 = node.client("s3")
    s3.put_object(Bucket=bucket, Key="lifecycle/x", Body=b"content")
    with pytest.raises(ClientError) as denied:
        s3.list_objects_v2(Bucket=bucket)
    said = denied.value.response["Error"]
    assert said["Code"] == "AccessDenied"
    for part in (
        node.spec.instance_id,
        "s3:ListBucket",
        f"arn:aws:s3:::{bucket}",
        "no identity-based policy allows",
    ):
        assert part in said["Message"]
    with pytest.raises(ClientError, match="not authorized"):
        node.client("ec2").describe_vpcs()
    limited = NodeSide(rehearsal, serve, made.outputs["Limited"]).client("s3")
    assert limited.get_object(Bucket=bucket, Key="lifecycle/x")["Body"].read() == b"content"
    with pytest.raises(ClientError, match="s3:PutObject"):
        limited.put_object(Bucket=bucket, Key="lifecycle/x", Body=b"")
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
    }
    policy = {"Version": "2012-10-17", "Statement": [deny]}
    client("s3").put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
    with pytest.raises(ClientError, match="explicit deny"):
        s3.get_object(Bucket=bucket, Key="lifecycle/x")
    stacks.delete(made.name)


def test_a_policy_that_asks_for_tls_does_not_shut_nodes_out(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, serve: Callable[[Answer], int], bucket: str
) -> None:
    made = stacks.create({"Role": role(managed=True)}, {"Name": ref("Role")})
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": f"arn:aws:s3:::{bucket}/*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    client("s3").put_bucket_policy(Bucket=bucket, Policy=policy)
    s3 = NodeSide(rehearsal, serve, made.outputs["Name"]).client("s3")
    assert s3.get_object(Bucket=bucket, Key="lifecycle/x")["Body"].read() == b"content"
    stacks.delete(made.name)


@pytest.mark.behaviour("HP217")
def test_a_key_that_is_no_nodes_is_refused(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int]
) -> None:
    made = stacks.create({"Role": role(managed=True)}, {"Name": ref("Role")})
    node = NodeSide(rehearsal, serve, made.outputs["Name"])
    for changes in ({"AccessKeyId": "ASIANOBODY0000000000"}, {"Token": "another"}):
        with pytest.raises(ClientError) as refused:
            node.client("sts", **changes).get_caller_identity()
        assert refused.value.response["Error"]["Code"] == "InvalidClientTokenId"
    assert ask(node.gateway, "GET", "/any-bucket")[0] == 403
    stacks.delete(made.name)


def test_calls_of_services_of_ours_have_actions_too(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int]
) -> None:
    statement = {"Effect": "Allow", "Action": "fsx:DescribeFileSystems", "Resource": "*"}
    made = stacks.create({"Role": role(statement)}, {"Name": ref("Role")})
    node = NodeSide(rehearsal, serve, made.outputs["Name"])
    assert node.client("fsx").describe_file_systems()["FileSystems"] == []
    with pytest.raises(ClientError, match="sagemaker:ListClusters"):
        node.client("sagemaker").list_clusters()
    stacks.delete(made.name)


def test_the_zone_of_an_address(rehearsal: Rehearsal, stacks: Stacks) -> None:
    made = stacks.create(vpc())
    assert rehearsal.store.zone_of("10.0.128.10") == "us-west-2d"
    assert rehearsal.store.zone_of("10.9.0.1") == ""
    stacks.delete(made.name)


class Recorded:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str, dict[str, Any]]] = []
        self.asked: list[tuple[str, str, str]] = []

    def emit(self, source: str, kind: str, subject: str, /, **data: Any) -> None:
        self.events.append((source, kind, subject, data))

    def replace(self, asking: str, node: str, reason: str) -> dict[str, Any]:
        self.asked.append((asking, node, reason))
        return {"accepted": True, "message": ""}


def test_agents_ask_for_a_replacement_and_tell_what_they_saw() -> None:
    directory, told = Directory(), Recorded()
    directory.add(spec("r", "10.0.128.10"))
    port = InternalPort(directory, told.replace, told)

    def post(path: str, body: bytes, client: str = "10.0.128.10") -> tuple[int, dict[str, Any]]:
        reply = port(Request("POST", path, {}, body, client))
        return reply.status, json.loads(reply.body)

    asked = json.dumps({"node": "ip-10-0-128-12", "reason": "Action:Replace"}).encode()
    assert post("/replace", asked) == (200, {"accepted": True, "message": ""})
    assert told.asked == [("10.0.128.10", "ip-10-0-128-12", "Action:Replace")]
    seen = [{"source": "agent", "kind": kind, "subject": "n"} for kind in ("detected", "marked")]
    lines = "\n".join(json.dumps(one | {"data": {"x": 1}}) for one in seen).encode()
    assert post("/events", lines)[0] == 200
    assert told.events == [("agent", kind, "n", {"x": 1}) for kind in ("detected", "marked")]
    assert post("/replace", b"{}")[0] == 400
    assert post("/events", b"no json")[0] == 400
    assert post("/other", b"")[0] == 404
    assert post("/replace", asked, client="10.0.128.99")[0] == 403
    assert len(told.asked) == 1


def test_an_answer_that_fails_is_a_500_and_no_hang(serve: Callable[[Answer], int]) -> None:
    def broken(_request: Request) -> Any:
        raise RuntimeError("no")

    port = serve(broken)
    assert ask(port, "GET", "/")[0] == 500
    assert ask(port, "PUT", "/", {"Transfer-Encoding": "chunked"})[0] == 411
