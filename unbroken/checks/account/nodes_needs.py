"""What HyperPod and the nodes do with their role, on the very resources that the templates give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unbroken.catalog.cloudformation import CLUSTER
from unbroken.checks.account.names import place
from unbroken.checks.account.needs import METRICS, OF_NODES, Need
from unbroken.checks.account.simulation import filled
from unbroken.checks.subject import Subject
from unbroken.checks.template.model import all_resources
from unbroken.checks.template.stand_in import stand_in

INTERFACE = "network-interface/eni-0123456789abcdef0"
_ON_INTERFACES = (
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
)


def nodes_needs(subject: Subject) -> list[Need]:
    """All needs, each with every condition key that is known.

    The simulator misses keys that any statement names, whether or not it is about the action asked for.
    """
    where = place(subject)
    needs = [filled(need, subject) for need in OF_NODES]
    needs += [*_interface_needs(subject), *_bundle_needs(subject)]
    subnets = [need.context["ec2:Subnet"] for need in needs if "ec2:Subnet" in need.context]
    common = {**METRICS, "kms:ViaService": f"s3.{where.region}.amazonaws.com"}
    common |= {"ec2:Subnet": subnets[0]} if subnets else {}
    common |= {"kms:GrantIsForAWSResource": "true"}
    return [Need(need.actions, need.resource, {**common, **need.context}) for need in needs]


def _interface_needs(subject: Subject) -> Iterator[Need]:
    """An interface of each node, in every subnet and with every security group that a group of nodes has."""
    where = place(subject)
    prefix = f"arn:{where.partition}:ec2:{where.region}:{where.account}:"
    for subnet in _of_networks(subject, "Subnets"):
        arn = f"{prefix}subnet/{subnet}"
        yield Need(("ec2:CreateNetworkInterface",), arn)
        yield Need(_ON_INTERFACES, prefix + INTERFACE, {"ec2:Subnet": arn})
    for group in _of_networks(subject, "SecurityGroupIds"):
        yield Need(("ec2:CreateNetworkInterface",), f"{prefix}security-group/{group}")


def _of_networks(subject: Subject, key: str) -> list[str]:
    """Subnets or security groups of the cluster and of its groups, each once."""
    found = []
    for cluster in all_resources(subject.known_templates, CLUSTER):
        networks = [cluster.properties.get("VpcConfig", {})]
        networks += [group.get("OverrideVpcConfig", {}) for group in _groups(cluster.properties)]
        for value in (value for network in networks for value in network.get(key, ())):
            found.append(stand_in(value, cluster.area, subject.known_templates, place(subject)))
    return list(dict.fromkeys(found))


def _groups(properties: Any) -> list[dict[str, Any]]:
    return list(properties.get("InstanceGroups", ()))


def _bundle_needs(subject: Subject) -> Iterator[Need]:
    """Reading the lifecycle bundle, where the cluster's template says, with the key it is encrypted with."""
    where = place(subject)
    for script in _scripts(subject):
        bucket = script.partition("/")[0]
        yield Need(("s3:ListBucket",), f"arn:{where.partition}:s3:::{bucket}")
        yield Need(("s3:GetObject",), f"arn:{where.partition}:s3:::{script}")
    key = subject.config.encryption.kms_key
    if key.startswith("arn:"):
        yield Need(("kms:Decrypt",), key)


def _scripts(subject: Subject) -> list[str]:
    """Bucket and key of each group's first script."""
    found = set()
    for cluster in all_resources(subject.known_templates, CLUSTER):
        for lifecycle in (group.get("LifeCycleConfig", {}) for group in _groups(cluster.properties)):
            hook = lifecycle.get("OnCreate") or lifecycle.get("OnInitComplete")
            if hook and "SourceS3Uri" in lifecycle:
                uri = stand_in(
                    lifecycle["SourceS3Uri"], cluster.area, subject.known_templates, place(subject)
                )
                found.add(uri.removeprefix("s3://") + hook)
    return sorted(found)
