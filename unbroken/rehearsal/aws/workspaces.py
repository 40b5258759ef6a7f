"""Workspaces of Amazon Managed Service for Prometheus and Amazon Managed Grafana, and their APIs.

Sources: API references, CreateWorkspace and DescribeWorkspace of both. The data planes are not emulated.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unbroken.rehearsal.aws import environment, wire

NOT_FOUND = "ResourceNotFoundException"
GRAFANA_VERSION = "10.4"
"""Which version AWS gives where none is asked for is not documented; any will do here."""


@dataclass
class Workspace:
    """One workspace of either service."""

    workspace_id: str
    arn: str
    properties: dict[str, Any]
    """CloudFormation's, as they are now."""
    created: float = field(default_factory=time.time)

    @property
    def tags(self) -> dict[str, str]:
        """Its tags."""
        return {tag["Key"]: str(tag["Value"]) for tag in self.properties.get("Tags", ())}


class Workspaces:
    """The workspaces of one service, and its REST API. Thread-safe: every change is a single step."""

    def __init__(self, service: str, new_id: Callable[[], str], region: str) -> None:
        """``service`` is ``aps`` or ``grafana``."""
        self.service = service
        self.region = region
        self._new_id = new_id
        self.made: dict[str, Workspace] = {}

    def create(self, properties: dict[str, Any]) -> Workspace:
        """A workspace of these CloudFormation properties."""
        workspace_id = self._new_id()
        self.made[workspace_id] = Workspace(workspace_id, self.arn(workspace_id), properties)
        return self.made[workspace_id]

    def arn(self, workspace_id: str) -> str:
        """A workspace's ARN; the form is each service's own (service authorization reference)."""
        kind = "/workspaces" if self.service == "grafana" else "workspace"
        return f"arn:aws:{self.service}:{self.region}:{environment.ACCOUNT}:{kind}/{workspace_id}"

    def rest(self, method: str, path: str, _query: dict[str, str], _body: bytes) -> wire.Answer:
        """Answer one request."""
        parts = path.strip("/").split("/")
        if (method, parts) == ("GET", ["workspaces"]):
            return 200, {"workspaces": [self._summary(one) for one in self.made.values()]}
        if len(parts) != 2 or parts[0] != "workspaces" or method not in ("GET", "DELETE"):
            return wire.unknown_operation(self.service, f"{method} {path}")
        found = self.made.get(parts[1])
        if found is None:
            return wire.refusal(NOT_FOUND, f"Workspace {parts[1]} does not exist", 404)
        if method == "DELETE":
            del self.made[parts[1]]
            return 202, {"workspace": self._whole(found)} if self.service == "grafana" else {}
        return 200, {"workspace": self._whole(found)}

    def _summary(self, one: Workspace) -> dict[str, Any]:
        return prometheus(one) if self.service == "aps" else grafana(one, self.region)

    def _whole(self, one: Workspace) -> dict[str, Any]:
        if self.service == "aps":
            return self._summary(one) | {"prometheusEndpoint": prometheus_endpoint(one, self.region)}
        return self._summary(one) | grafana_settings(one)


def workspaces(region: str) -> dict[str, Workspaces]:
    """Those of both services, by the name in a signature."""
    return {
        "aps": Workspaces("aps", lambda: f"ws-{uuid.uuid4()}", region),
        "grafana": Workspaces("grafana", lambda: f"g-{uuid.uuid4().hex[:10]}", region),
    }


def prometheus_endpoint(one: Workspace, region: str) -> str:
    """Where metrics are written to and read from."""
    return f"https://aps-workspaces.{region}.amazonaws.com/workspaces/{one.workspace_id}/"


def grafana_endpoint(one: Workspace, region: str) -> str:
    """Where people log in."""
    return f"{one.workspace_id}.grafana-workspace.{region}.amazonaws.com"


def prometheus(one: Workspace) -> dict[str, Any]:
    """A workspace of Prometheus as its API lists it."""
    view: dict[str, Any] = {
        "workspaceId": one.workspace_id,
        "arn": one.arn,
        "status": {"statusCode": "ACTIVE"},
        "createdAt": one.created,
        "tags": one.tags,
    }
    named = {"alias": "Alias", "kmsKeyArn": "KmsKeyArn"}
    return view | {name: one.properties[of] for name, of in named.items() if of in one.properties}


def grafana(one: Workspace, region: str) -> dict[str, Any]:
    """A workspace of Grafana as its API lists it."""
    return {
        "id": one.workspace_id,
        "name": one.properties.get("Name", one.workspace_id),
        "status": "ACTIVE",
        "endpoint": grafana_endpoint(one, region),
        "grafanaVersion": one.properties.get("GrafanaVersion", GRAFANA_VERSION),
        "created": one.created,
        "modified": one.created,
        "tags": one.tags,
        "authentication": {"providers": list(one.properties["AuthenticationProviders"])},
    }


def grafana_settings(one: Workspace) -> dict[str, Any]:
    """What its API adds where one workspace is asked for."""
    named = {
        "accountAccessType": "AccountAccessType",
        "permissionType": "PermissionType",
        "workspaceRoleArn": "RoleArn",
    }
    view = {name: one.properties[of] for name, of in named.items() if of in one.properties}
    return {"dataSources": list(one.properties.get("DataSources", ()))} | view
