"""The AWS APIs as a node reaches them: the caller is identified, checked against IAM, and then passed on.

The signature itself is not verified, only the key and the session token; a key that is not a node's own is
refused.
"""

from __future__ import annotations

import http.client
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import ministack.app
from ministack.core import iam_actions, router

from unbroken.rehearsal.aws import environment, execution_role
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.gateway.http import NoAnswer, Reply, Request
from unbroken.rehearsal.aws.gateway.nodes import Credentials, Sessions
from unbroken.rehearsal.aws.permissions import Denial, Permissions

FORWARD_SECONDS = 120.0
HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length"}
)
KEY_ACTIONS = {"s3:GetObject": "kms:Decrypt", "s3:PutObject": "kms:GenerateDataKey"}
"""What an object encrypted with a KMS key needs besides (S3 user guide, SSE-KMS)."""
ALWAYS_ALLOWED = frozenset({"sts:GetCallerIdentity"})
"""What IAM allows whatever the policies say (STS API reference, GetCallerIdentity)."""

_CREDENTIAL = re.compile(r"Credential=([^/\s]+)/[^/]+/([^/]+)/([^/]+)/")


@dataclass(frozen=True)
class Call:
    """One API call as IAM sees it."""

    service: str
    action: str
    resource: str
    context: Mapping[str, Any]


class NodeApis:
    """Checks and forwards; one for all nodes."""

    def __init__(
        self,
        port: int,
        sessions: Sessions,
        permissions: Permissions,
        reaches: Callable[[str, str], bool],
    ) -> None:
        """``reaches`` tells whether the node with an address gets to a service."""
        self._port = port
        self._reaches = reaches
        self._sessions = sessions
        self._permissions = permissions
        self._clients = Clients(port, permissions.region)

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        credentials = self._caller(request)
        calls = list(calls_of(request, self._permissions.region))
        service = calls[0].service if calls else ""
        if not self._reaches(request.client, service):
            raise NoAnswer(f"{request.client} has no way to {service}")
        if credentials is None:
            text = "The security token included in the request is invalid."
            return _refused(service, "InvalidClientTokenId", text, request)
        for call in (*calls, *self._key_calls(calls)):
            denial = self._check(credentials, call)
            if denial is not None:
                return _denied(call.service, denial, request)
        return self._forward(request)

    def _key_calls(self, calls: list[Call]) -> Iterator[Call]:
        """What S3 asks of KMS for the caller, where a bucket encrypts with a key of one's own."""
        for call in calls:
            wanted = KEY_ACTIONS.get(call.action)
            bucket = call.resource.rpartition(":::")[2].split("/")[0]
            key = execution_role.bucket_key(self._clients, bucket) if wanted else ""
            if wanted and key:
                context = execution_role.through_s3(self._permissions.region, bucket)
                yield Call(call.service, wanted, key, context)

    def _caller(self, request: Request) -> Credentials | None:
        """The node whose key signed it; None for an unsigned request, an unknown key or a wrong token."""
        found = _CREDENTIAL.search(request.headers.get("authorization", ""))
        credentials = self._sessions.find(found.group(1)) if found else None
        if credentials is None or request.headers.get("x-amz-security-token") != credentials.token:
            return None
        return credentials

    def _check(self, credentials: Credentials, call: Call) -> Denial | None:
        if call.action in ALWAYS_ALLOWED:
            return None
        return self._permissions.check(credentials.principal, call.action, call.resource, call.context)

    def _forward(self, request: Request) -> Reply:
        headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
        connection = http.client.HTTPConnection(environment.LOOPBACK, self._port, timeout=FORWARD_SECONDS)
        try:
            connection.request(request.method, request.target, request.body, headers)
            answer = connection.getresponse()
            body = answer.read()
            length = answer.getheader("content-length") or str(len(body))
        finally:
            connection.close()
        kept = {
            name: value
            for name, value in answer.getheaders()
            if name.lower() not in HOP_BY_HOP | {"date", "server"}
        }
        return Reply(
            answer.status, body, kept | ({"Content-Length": length} if request.method == "HEAD" else {})
        )


def calls_of(request: Request, region: str) -> Iterator[Call]:
    """What the request needs to be allowed to do; copying an object, say, is two calls."""
    parts = urlsplit(request.target)
    path, headers = unquote(parts.path), dict(request.headers)
    query = parse_qs(parts.query, keep_blank_values=True)
    params = ministack.app._routing_params(request.method, path, headers, request.body, query)
    service = router.detect_service(request.method, path, headers, params)
    action = iam_actions.extract_iam_action(service, request.method, path, headers, request.body, params)
    yield Call(
        service=service,
        action=action or f"{service}:{headers.get('x-amz-target', 'Unknown').rpartition('.')[2]}",
        resource=iam_actions.extract_resource_arn(
            service, request.method, path, headers, request.body, params, region, environment.ACCOUNT
        ),
        context=iam_actions.s3_service_context(action, query, path, headers) if service == "s3" else {},
    )
    if service == "s3":
        more = iam_actions.s3_additional_checks(request.method, path, headers, request.body, params)
        yield from (Call(service, extra, resource, {}) for extra, resource in more)


def _denied(service: str, denial: Denial, request: Request) -> Reply:
    response = iam_actions.access_denied_response(
        service,
        denial.action,
        denial.principal.arn,
        str(uuid.uuid4()),
        message=denial.message,
        headers=dict(request.headers),
        resource_arn=denial.resource,
        explicit_deny=denial.explicit,
    )
    return _reply(response)


def _refused(service: str, code: str, message: str, request: Request) -> Reply:
    response = iam_actions.access_denied_response(
        service, "", "", str(uuid.uuid4()), error_code=code, message=message, headers=dict(request.headers)
    )
    return _reply(response)


def _reply(response: tuple[int, dict[str, str], bytes]) -> Reply:
    status, headers, body = response
    return Reply(status, body, headers)
