"""A node as the gateway sees one: an address, a role, and clients that ask through the gateway."""

from __future__ import annotations

import http.client
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import botocore.session
from botocore.config import Config

from unbroken.rehearsal.aws.gateway.apis import NodeApis
from unbroken.rehearsal.aws.gateway.http import Answer
from unbroken.rehearsal.aws.gateway.imds import MetadataService
from unbroken.rehearsal.aws.gateway.nodes import Directory
from unbroken.rehearsal.composition import Rehearsal
from unbroken.rehearsal.hyperpod.machines import MachineSpec

LOOPBACK = "127.0.0.1"


def spec(role_name: str, address: str = LOOPBACK) -> MachineSpec:
    instance = f"i-{uuid.uuid4().hex[:17]}"
    return MachineSpec(
        "ip-10-0-128-10", address, 17, "10.0.128.1", "ml.p4de.24xlarge", instance, role_name, 8, 0, 0
    )


def zone(_address: str) -> str:
    return "us-west-2d"


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


class NodeSide:
    """A node's clients: credentials from instance metadata, requests through the gateway."""

    def __init__(self, rehearsal: Rehearsal, serve: Callable[[Answer], int], role_name: str) -> None:
        directory = Directory()
        self.spec = spec(role_name)
        directory.add(self.spec)
        metadata = serve(MetadataService(directory, rehearsal.sessions, "us-west-2", zone))
        self.gateway = serve(
            NodeApis(rehearsal.aws.port, rehearsal.sessions, rehearsal.permissions, lambda *_: True)
        )
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
