"""CloudFormation's AWS::APS::Workspace and AWS::Grafana::Workspace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import keys, workspaces
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError
from unbroken.rehearsal.aws.trust import trusted_services
from unbroken.rehearsal.aws.workspaces import Workspace, Workspaces


def handlers(clients: Clients, of: dict[str, Workspaces]) -> list[Handler]:
    """Both types."""
    return [PrometheusWorkspace(clients, of["aps"]), GrafanaWorkspace(clients, of["grafana"])]


class _WorkspaceResource(ABC):
    """What both types have in common."""

    def __init__(self, clients: Clients, of: Workspaces) -> None:
        self.clients = clients
        self.of = of

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        self.check(properties)
        return self.resource(self.of.create(dict(properties)))

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        self.check(new)
        found = self.find(physical_id)
        if found is None:
            raise ResourceError(f"Workspace {physical_id} does not exist")
        found.properties = dict(new)
        return self.resource(found)

    def delete(self, physical_id: str, properties: Properties) -> None:
        found = self.find(physical_id)
        if found is not None:
            del self.of.made[found.workspace_id]

    def find(self, physical_id: str) -> Workspace | None:
        """The workspace by its id, or by its ARN."""
        return self.of.made.get(physical_id.rpartition("/")[2])

    @abstractmethod
    def check(self, properties: Properties) -> None:
        """Raise ResourceError where the service would refuse."""

    @abstractmethod
    def resource(self, made: Workspace) -> Resource:
        """What CloudFormation gets."""


class PrometheusWorkspace(_WorkspaceResource):
    """``Ref`` is the workspace's ARN."""

    type_name = "AWS::APS::Workspace"

    def check(self, properties: Properties) -> None:
        """Its key works, and the log groups it writes to are there."""
        problem = keys.problem(self.clients, properties.get("KmsKeyArn"))
        if problem:
            raise ResourceError(f"{problem} (ValidationException)")
        group = properties.get("LoggingConfiguration", {}).get("LogGroupArn")
        if group and not self._exists(str(group)):
            raise ResourceError(f"The log group {group} does not exist (ValidationException)")

    def _exists(self, group_arn: str) -> bool:
        name = group_arn.split(":log-group:")[-1].removesuffix(":*")
        found = self.clients.logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        return any(group["logGroupName"] == name for group in found)

    def resource(self, made: Workspace) -> Resource:
        """ARN, id and endpoint."""
        attributes: dict[str, Any] = {
            "Arn": made.arn,
            "WorkspaceId": made.workspace_id,
            "PrometheusEndpoint": workspaces.prometheus_endpoint(made, self.of.region),
        }
        return Resource(made.arn, attributes)


class GrafanaWorkspace(_WorkspaceResource):
    """``Ref`` is the workspace's id."""

    type_name = "AWS::Grafana::Workspace"
    identity_center = True
    """A setting: whether the account has IAM Identity Center, without which nobody logs in with AWS_SSO."""

    def check(self, properties: Properties) -> None:
        """Somebody can log in, and a role that is given lets Grafana assume it."""
        if "AWS_SSO" in properties["AuthenticationProviders"] and not self.identity_center:
            raise ResourceError(
                "AWS_SSO needs IAM Identity Center, which this account does not have (ValidationException)"
            )
        role = properties.get("RoleArn")
        if role is None and properties["PermissionType"] == "CUSTOMER_MANAGED":
            raise ResourceError("RoleArn is required for CUSTOMER_MANAGED permissions (ValidationException)")
        if role is not None and "grafana.amazonaws.com" not in self._trusted(str(role)):
            raise ResourceError(f"grafana.amazonaws.com cannot assume the role {role} (ValidationException)")

    def _trusted(self, role_arn: str) -> set[str]:
        try:
            role = self.clients.iam.get_role(RoleName=role_arn.rpartition("/")[2])["Role"]
        except ClientError:
            return set()
        return set(trusted_services(role["AssumeRolePolicyDocument"]))

    def resource(self, made: Workspace) -> Resource:
        """Id and endpoint."""
        endpoint = workspaces.grafana_endpoint(made, self.of.region)
        attributes = {"Id": made.workspace_id, "Endpoint": endpoint, "Status": "ACTIVE"}
        return Resource(made.workspace_id, attributes | {"GrafanaVersion": workspaces.GRAFANA_VERSION})
