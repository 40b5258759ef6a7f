"""Roles, policies, keys and secrets brought along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import ministack.services.kms as kms
import ministack.services.secretsmanager as secretsmanager
from botocore.exceptions import ClientError
from ministack.core.responses import request_scope

from unbroken.config import ClusterConfig
from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.embedded import EmbeddedAws

MANAGED = "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
REST = ["ec2:*NetworkInterface*", "ec2:Describe*", "ec2:CreateTags", "kms:*", "secretsmanager:GetSecretValue"]
"""What a cluster in one's own VPC needs beside the managed policy; a stand-in is generous."""
DATABASE = {"username": "slurm", "password": "rehearsal-only"}
ANYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def bring(config: ClusterConfig, aws: EmbeddedAws) -> Iterator[str]:
    """All of them, each once."""
    boundary, role_arn = config.identity.permissions_boundary, config.identity.execution_role_arn
    if boundary and not boundary.startswith("arn:aws:iam::aws:") and _policy(aws, boundary):
        yield f"policy {boundary}"
    if role_arn and _role(aws, role_arn):
        yield f"role {role_arn}"
    keys = [config.encryption.kms_key, *(group.volume_kms_key for group in config.groups())]
    for arn in sorted({key for key in keys if key and key.startswith("arn:")}):
        if _key(aws, arn):
            yield f"KMS key {arn}"
    database = config.slurm.accounting_database
    if database and _secret(aws, database.secret_arn):
        yield f"secret {database.secret_arn}"


def _policy(aws: EmbeddedAws, arn: str) -> bool:
    name = arn.rpartition("/")[2]
    try:
        aws.clients.iam.create_policy(PolicyName=name, PolicyDocument=json.dumps(ANYTHING))
    except aws.clients.iam.exceptions.EntityAlreadyExistsException:
        return False
    return True


def _role(aws: EmbeddedAws, arn: str) -> bool:
    name, iam = arn.rpartition("/")[2], aws.clients.iam
    try:
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
    except iam.exceptions.EntityAlreadyExistsException:
        return False
    iam.attach_role_policy(RoleName=name, PolicyArn=MANAGED)
    rest = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": REST, "Resource": "*"}]}
    iam.put_role_policy(RoleName=name, PolicyName="rest", PolicyDocument=json.dumps(rest))
    return True


def _key(aws: EmbeddedAws, arn: str) -> bool:
    """A key with this id; its policy lets the account's roles and the Logs service use it."""
    client, wanted = aws.clients.of("kms"), arn.rpartition("/")[2]
    try:
        client.describe_key(KeyId=wanted)
    except ClientError:
        made = client.create_key(Policy=json.dumps(_key_policy(aws.region)))["KeyMetadata"]["KeyId"]
        with request_scope(environment.ACCOUNT, aws.region):
            record = kms._keys.pop(made)
            kms._keys[wanted] = record | {"KeyId": wanted, "Arn": arn}
        return True
    return False


def _key_policy(region: str) -> dict[str, Any]:
    account = {"AWS": f"arn:aws:iam::{environment.ACCOUNT}:root"}
    everyone: list[dict[str, str]] = [account, {"Service": f"logs.{region}.amazonaws.com"}]
    allow = {"Effect": "Allow", "Action": "kms:*", "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [allow | {"Principal": one} for one in everyone]}


def _secret(aws: EmbeddedAws, arn: str) -> bool:
    """A secret by its ARN, whose last six characters AWS chooses."""
    client, name = aws.clients.of("secretsmanager"), arn.rpartition(":secret:")[2][:-7]
    try:
        client.create_secret(Name=name, SecretString=json.dumps(DATABASE))
    except client.exceptions.ResourceExistsException:
        return False
    with request_scope(environment.ACCOUNT, aws.region):
        secretsmanager._secrets[name]["ARN"] = arn
    return True
