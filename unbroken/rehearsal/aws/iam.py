"""CloudFormation's AWS::IAM::Role: gives it the permissions boundary that ministack drops."""

from __future__ import annotations

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Amendment, Properties


def amendments(clients: Clients) -> list[Amendment]:
    """The role type."""

    def bound(role: str, properties: Properties) -> None:
        boundary = properties.get("PermissionsBoundary")
        if boundary:
            clients.iam.put_role_permissions_boundary(RoleName=role, PermissionsBoundary=boundary)
        elif "PermissionsBoundary" in clients.iam.get_role(RoleName=role)["Role"]:
            clients.iam.delete_role_permissions_boundary(RoleName=role)

    return [Amendment("AWS::IAM::Role", finish=bound)]
