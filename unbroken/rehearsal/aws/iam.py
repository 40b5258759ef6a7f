"""AWS IAM: a role's permissions boundary, which ministack's CloudFormation drops; and no simulator."""

from __future__ import annotations

import ministack.services.iam as iam

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Amendment, Properties

SIMULATIONS = ("SimulateCustomPolicy", "SimulatePrincipalPolicy")


def install() -> None:
    """Refuse IAM's simulator: ministack answers for roles there are not, and without conditions."""
    for action in SIMULATIONS:
        text = f"{action} is not part of the embedded AWS: nothing is known of it here"
        iam._IAM_HANDLERS[action] = lambda _params, said=text: iam._error(
            400, "UnknownOperationException", said
        )


def amendments(clients: Clients) -> list[Amendment]:
    """The role type."""

    def bound(role: str, properties: Properties) -> None:
        boundary = properties.get("PermissionsBoundary")
        if boundary:
            clients.iam.put_role_permissions_boundary(RoleName=role, PermissionsBoundary=boundary)
        elif "PermissionsBoundary" in clients.iam.get_role(RoleName=role)["Role"]:
            clients.iam.delete_role_permissions_boundary(RoleName=role)

    return [Amendment("AWS::IAM::Role", finish=bound)]
