"""What the HyperPod service asks of the rest of AWS (its ``NodeStore``), answered by the embedded AWS."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.deployment import keys_below
from unbroken.rehearsal.aws.execution_role import ExecutionRole
from unbroken.rehearsal.aws.fsx.service import Fsx
from unbroken.rehearsal.aws.permissions import Permissions
from unbroken.rehearsal.aws.reach import reach
from unbroken.rehearsal.aws.trust import trusted_services
from unbroken.rehearsal.hyperpod.machines import (
    FileSystem,
    NotFound,
    Reach,
    Role,
    SecurityGroup,
    Subnet,
)

NODE_INTERFACE = "SageMaker HyperPod node"
"""The description of nodes' interfaces; our choice."""


class EmbeddedStore:
    """A ``NodeStore``. Thread-safe, as botocore's clients are."""

    def __init__(self, clients: Clients, fsx: Fsx, permissions: Permissions) -> None:
        self.clients = clients
        self.fsx = fsx
        self.role_calls = ExecutionRole(clients, permissions)

    def role(self, arn: str) -> Role | None:
        """The role with this ARN, or None."""
        try:
            found = self.clients.iam.get_role(RoleName=arn.rpartition("/")[2])["Role"]
        except ClientError:
            return None
        if found["Arn"] != arn:
            return None
        return Role(found["RoleName"], arn, frozenset(trusted_services(found["AssumeRolePolicyDocument"])))

    def subnet(self, subnet_id: str) -> Subnet | None:
        """The subnet, or None."""
        found = self._one("describe_subnets", "Subnets", SubnetIds=[subnet_id])
        if found is None:
            return None
        return Subnet(
            subnet_id=subnet_id,
            vpc_id=found["VpcId"],
            cidr=found["CidrBlock"],
            availability_zone_id=found.get("AvailabilityZoneId", ""),
            addresses_in_use=frozenset(self._addresses(subnet_id)),
        )

    def zone_of(self, address: str) -> str:
        """The name of the zone of the node with this address; empty where there is no such node."""
        interface = self._interface_of_node(address)
        return str(interface["AvailabilityZone"]) if interface else ""

    def security_group(self, group_id: str) -> SecurityGroup | None:
        """The security group, or None."""
        found = self._one("describe_security_groups", "SecurityGroups", GroupIds=[group_id])
        if found is None:
            return None
        return SecurityGroup(
            group_id=group_id,
            vpc_id=found["VpcId"],
            self_ingress=refers_to(found["IpPermissions"], group_id),
            self_egress=refers_to(found["IpPermissionsEgress"], group_id),
        )

    def file_systems(self) -> Sequence[FileSystem]:
        """All Lustre file systems there are now."""
        return [
            FileSystem(known.file_system_id, known.dns_name, known.mount_name)
            for known in list(self.fsx.file_systems.values())
            if known.kind == "LUSTRE"
        ]

    def homes(self) -> Sequence[FileSystem]:
        """All OpenZFS file systems there are now."""
        return [
            FileSystem(known.file_system_id, known.dns_name, "")
            for known in list(self.fsx.file_systems.values())
            if known.kind == "OPENZFS"
        ]

    def reach(self, subnet_id: str) -> Reach:
        """What can be reached from a subnet, by its routes and the VPC's endpoints."""
        return reach(self.clients.ec2, subnet_id)

    def reaches(self, address: str, service: str) -> bool:
        """Whether the node with this address gets to an AWS service."""
        interface = self._interface_of_node(address)
        return interface is not None and service in self.reach(interface["SubnetId"])

    def _interface_of_node(self, address: str) -> Mapping[str, Any] | None:
        """The newest one: an address can be another VPC's too, and the node's before a replacement."""
        filters = [
            {"Name": "private-ip-address", "Values": [address]},
            {"Name": "description", "Values": [NODE_INTERFACE]},
        ]
        found = self.clients.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
        return dict(found[-1]) if found else None

    def secret(self, arn: str, role_name: str) -> Mapping[str, str]:
        """A secret's JSON object; raises AccessDenied or NotFound."""
        self.role_calls.allow(role_name, "secretsmanager:GetSecretValue", arn)
        try:
            text = self.clients.of("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
        except ClientError as error:
            raise NotFound(f"the secret {arn} does not exist") from error
        value: dict[str, str] = json.loads(text)
        return value

    def fetch(self, s3_uri: str, role_name: str) -> dict[str, bytes]:
        """The objects below the prefix; raises AccessDenied or NotFound."""
        bucket, _, path = s3_uri.removeprefix("s3://").partition("/")
        prefix = f"{path.rstrip('/')}/" if path else ""
        self.role_calls.allow(role_name, "s3:ListBucket", f"arn:aws:s3:::{bucket}", {"s3:prefix": prefix})
        try:
            self.clients.s3.head_bucket(Bucket=bucket)
        except ClientError as error:
            raise NotFound(f"The specified bucket does not exist: {bucket}") from error
        keys = keys_below(self.clients, bucket, prefix)
        return {key.removeprefix(prefix): self._object(role_name, bucket, key) for key in keys}

    def check_volume_key(self, key_id: str, role_name: str) -> None:
        """A key with which the role can encrypt volumes; raises AccessDenied or NotFound."""
        self.role_calls.encrypt_volume(role_name, key_id)

    def attach_interface(
        self, subnet_id: str, security_group_ids: Sequence[str], address: str, role_name: str
    ) -> str:
        """Put an interface with this address into the subnet and return its id; raises AccessDenied."""
        self.role_calls.make_interface(role_name, subnet_id, security_group_ids)
        answer = self.clients.ec2.create_network_interface(
            SubnetId=subnet_id,
            Groups=list(security_group_ids),
            PrivateIpAddress=address,
            Description=NODE_INTERFACE,
        )
        return str(answer["NetworkInterface"]["NetworkInterfaceId"])

    def detach_interface(self, interface_id: str) -> None:
        """Delete the interface. Safe to repeat."""
        try:
            self.clients.ec2.delete_network_interface(NetworkInterfaceId=interface_id)
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidNetworkInterfaceID.NotFound":
                raise

    def put_log_lines(self, group: str, stream: str, lines: Sequence[str], role_name: str) -> None:
        """Append lines to a log stream, made where it does not exist; raises AccessDenied."""
        if not lines:
            return
        logs = self.clients.logs
        self.role_calls.write_log(role_name, group, stream)
        try:
            _ignore_existing(logs.create_log_stream, logGroupName=group, logStreamName=stream)
        except logs.exceptions.ResourceNotFoundException:
            self.role_calls.make_log_group(role_name, group)
            _ignore_existing(logs.create_log_group, logGroupName=group)
            _ignore_existing(logs.create_log_stream, logGroupName=group, logStreamName=stream)
        now = int(time.time() * 1000)
        events = [{"timestamp": now, "message": line or " "} for line in lines]
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)

    def _object(self, role_name: str, bucket: str, key: str) -> bytes:
        self.role_calls.read_object(role_name, bucket, key)
        body: bytes = self.clients.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        return body

    def _one(self, operation: str, member: str, **selection: Sequence[str]) -> dict[str, Any] | None:
        try:
            found: list[dict[str, Any]] = getattr(self.clients.ec2, operation)(**selection)[member]
        except ClientError:
            return None
        return found[0] if found else None

    def _addresses(self, subnet_id: str) -> Iterable[str]:
        interfaces = self.clients.ec2.describe_network_interfaces()["NetworkInterfaces"]
        return (i["PrivateIpAddress"] for i in interfaces if i["SubnetId"] == subnet_id)


def _ignore_existing(call: Any, **arguments: str) -> None:
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
            raise


def refers_to(rules: Sequence[Mapping[str, Any]], group_id: str) -> bool:
    """Whether an all-traffic rule names the group itself."""
    return any(
        rule["IpProtocol"] == "-1"
        and any(pair.get("GroupId") == group_id for pair in rule["UserIdGroupPairs"])
        for rule in rules
    )
