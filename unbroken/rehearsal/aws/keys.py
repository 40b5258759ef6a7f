"""KMS keys as other services look at them: a key that is gone or disabled encrypts nothing."""

from __future__ import annotations

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients


def problem(clients: Clients, key: object) -> str:
    """Why nothing can be encrypted with the key (id, ARN or alias); empty where it can, or none is given."""
    if not key:
        return ""
    try:
        found = clients.of("kms").describe_key(KeyId=str(key))["KeyMetadata"]
    except ClientError as error:
        return f"The KMS key {key} cannot be used: {error.response['Error']['Message']}"
    if found["KeyState"] != "Enabled":
        return f"The KMS key {found['Arn']} cannot be used: it is in state {found['KeyState']}."
    return ""
