"""CloudFormation's AWS::KMS::Key and AWS::KMS::Alias: what KMS refuses and ministack takes."""

from __future__ import annotations

import json

from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Amendment, Properties, ResourceError
from unbroken.rehearsal.aws.permissions import administers


def amendments(clients: Clients) -> list[Amendment]:
    """Both types. A deleted key is PendingDeletion until its waiting period ends; ministack does that."""

    def check_alias(properties: Properties) -> None:
        name = properties["AliasName"]
        pages = clients.of("kms").get_paginator("list_aliases").paginate()
        if any(alias["AliasName"] == name for page in pages for alias in page["Aliases"]):
            arn = f"arn:aws:kms:{clients.region}:{environment.ACCOUNT}:{name}"
            raise ResourceError(f"An alias with the name {arn} already exists (AlreadyExistsException)")

    return [
        Amendment("AWS::KMS::Key", check=_check_policy),
        Amendment("AWS::KMS::Alias", check_new=check_alias),
    ]


def _check_policy(properties: Properties) -> None:
    """KMS's safety check (API reference, CreateKey, BypassPolicyLockoutSafetyCheck)."""
    policy = properties.get("KeyPolicy")
    bypassed = str(properties.get("BypassPolicyLockoutSafetyCheck", False)).lower() == "true"
    if policy is None or bypassed:
        return
    document = policy if isinstance(policy, str) else json.dumps(policy)
    if not administers(document):
        raise ResourceError(
            "The new key policy will not allow you to update the key policy in the future. "
            "(MalformedPolicyDocumentException)"
        )
