"""The instance metadata service, version 2 only, as a node finds it at 169.254.169.254.

Role credentials, the identity document and the few items node software reads. Version 1 is refused as on
HyperPod. Source: EC2 user guide, "Use the Instance Metadata Service" and "Instance identity documents".
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable

from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.ec2.api import zone_id
from unbroken.rehearsal.aws.gateway.http import Reply, Request
from unbroken.rehearsal.aws.gateway.nodes import Credentials, Directory, Sessions
from unbroken.rehearsal.hyperpod.machines import MachineSpec

MAX_TTL_SECONDS = 21600
TOKEN_HEADER = "x-aws-ec2-metadata-token"  # noqa: S105  (a header's name)
TTL_HEADER = "x-aws-ec2-metadata-token-ttl-seconds"
CREDENTIALS_PATH = "iam/security-credentials/"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
IMAGE_ID = "ami-0rehearsal0000000"


class MetadataService:
    """Answers the requests of all nodes, told apart by their address."""

    def __init__(
        self,
        directory: Directory,
        sessions: Sessions,
        region: str,
        zone_of: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``zone_of`` gives the zone of an address; ``clock`` seconds that only grow."""
        self._directory = directory
        self._sessions = sessions
        self._region = region
        self._zone_of = zone_of
        self._clock = clock
        self._tokens: dict[str, tuple[str, float]] = {}

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        node = self._directory.at(request.client)
        if node is None:
            return Reply(404)
        path = request.target.split("?")[0]
        if path == "/latest/api/token":
            return self._token(request)
        if not self._authorized(request):
            return Reply(401)
        return self._item(node, path) if request.method in ("GET", "HEAD") else Reply(405)

    def _token(self, request: Request) -> Reply:
        ttl = request.headers.get(TTL_HEADER, "")
        if request.method != "PUT":
            return Reply(405)
        if not ttl.isdigit() or not 1 <= int(ttl) <= MAX_TTL_SECONDS:
            return Reply(400)
        token = secrets.token_urlsafe(40)
        self._tokens[token] = (request.client, self._clock() + int(ttl))
        return _text(token, {TTL_HEADER: ttl})

    def _authorized(self, request: Request) -> bool:
        client, expires = self._tokens.get(request.headers.get(TOKEN_HEADER, ""), ("", 0.0))
        return client == request.client and self._clock() < expires

    def _item(self, node: MachineSpec, path: str) -> Reply:
        if path == "/latest/dynamic/instance-identity/document":
            return _text(json.dumps(self._identity(node), indent=2))
        if not path.startswith("/latest/meta-data"):
            return Reply(404)
        items = self._metadata(node)
        name = path.removeprefix("/latest/meta-data").lstrip("/")
        if name in items:
            return _text(items[name])
        if name == CREDENTIALS_PATH + node.role_name:
            return _text(json.dumps(_credentials(self._sessions.of(node)), indent=2))
        listing = _children(name, [*items, CREDENTIALS_PATH + node.role_name])
        return _text("\n".join(listing)) if listing else Reply(404)

    def _metadata(self, node: MachineSpec) -> dict[str, str]:
        zone = self._zone_of(node.address)
        return {
            "ami-id": IMAGE_ID,
            "hostname": f"{node.name}.{self._region}.compute.internal",
            "instance-id": node.instance_id,
            "instance-type": node.instance_type.removeprefix("ml."),
            "local-hostname": f"{node.name}.{self._region}.compute.internal",
            "local-ipv4": node.address,
            "placement/availability-zone": zone,
            "placement/availability-zone-id": zone_id(zone) if zone else "",
            "placement/region": self._region,
        }

    def _identity(self, node: MachineSpec) -> dict[str, object]:
        metadata = self._metadata(node)
        return {
            "accountId": environment.ACCOUNT,
            "architecture": "x86_64",
            "availabilityZone": metadata["placement/availability-zone"],
            "billingProducts": None,
            "imageId": IMAGE_ID,
            "instanceId": node.instance_id,
            "instanceType": metadata["instance-type"],
            "privateIp": node.address,
            "region": self._region,
            "version": "2017-09-30",
        }


def _text(text: str, headers: dict[str, str] | None = None) -> Reply:
    return Reply(200, text.encode(), {"Content-Type": "text/plain", **(headers or {})})


def _children(folder: str, names: list[str]) -> list[str]:
    """The names below a folder, folders with a slash, as IMDS lists them."""
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    below = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in below})


def _credentials(credentials: Credentials) -> dict[str, str]:
    return {
        "Code": "Success",
        "LastUpdated": time.strftime(TIME_FORMAT, time.gmtime()),
        "Type": "AWS-HMAC",
        "AccessKeyId": credentials.access_key,
        "SecretAccessKey": credentials.secret_key,
        "Token": credentials.token,
        "Expiration": credentials.expires.strftime(TIME_FORMAT),
    }
