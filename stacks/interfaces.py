"""What HyperPod needs to put network interfaces of the nodes into our subnets."""

from __future__ import annotations

from stacks.base import ClusterStack
from stacks.network import NetworkStack
from stacks.permissions import Statement, allow
from unbroken.config import ClusterConfig

_DESCRIBED = ("DhcpOptions", "NetworkInterfaces", "SecurityGroups", "Subnets", "Vpcs")


def interface_statements(
    stack: ClusterStack, config: ClusterConfig, network: NetworkStack
) -> list[Statement]:
    """Interfaces in the cluster's own subnets, with its own security groups, and no others."""
    interface = stack.arn("ec2", "network-interface/*")
    subnets = [stack.arn("ec2", f"subnet/{id_}") for id_ in _subnets(config, network)]
    groups = [stack.arn("ec2", f"security-group/{id_}") for id_ in _security_groups(config, network)]
    return [
        allow(
            "CreateInterfaces",
            ["ec2:CreateNetworkInterface"],
            [interface, *subnets, *groups],
            purpose="HyperPod makes an interface for each node, in the cluster's subnets and groups only.",
        ),
        allow(
            "OwnInterfaces",
            ["ec2:CreateNetworkInterfacePermission", "ec2:DeleteNetworkInterface"],
            [interface],
            {"ArnEquals": {"ec2:Subnet": subnets}},
            purpose="HyperPod lends the interface to the node, whose instance is in the service's account, "
            "and removes it with the node; in the cluster's subnets only.",
        ),
        *_given_back(interface),
        *_without_resource(),
    ]


def _given_back(interface: str) -> list[Statement]:
    return [
        allow(
            "ReturnInterfaces",
            ["ec2:DeleteNetworkInterfacePermission"],
            [interface],
            purpose="HyperPod takes the interface back before it deletes it.",
        ),
        allow(
            "TagInterfaces",
            ["ec2:CreateTags"],
            [interface],
            purpose="HyperPod marks its interfaces, which is how leftovers are found.",
        ),
    ]


def _without_resource() -> list[Statement]:
    return [
        allow(
            "DetachInterfaces",
            ["ec2:DetachNetworkInterface"],
            ["*"],
            purpose="Detaching names the instance too, which is in the service's account.",
        ),
        allow(
            "Look",
            [f"ec2:Describe{what}" for what in _DESCRIBED],
            ["*"],
            purpose="HyperPod checks subnets, groups and name resolution before it makes interfaces. EC2 "
            "takes no resource for these.",
        ),
    ]


def _subnets(config: ClusterConfig, network: NetworkStack) -> list[str]:
    """The private subnet, and those that groups name."""
    named = sorted({group.subnet for group in config.groups() if group.subnet is not None})
    return [network.private_subnet_id, *(network.subnet_id(name) for name in named)]


def _security_groups(config: ClusterConfig, network: NetworkStack) -> list[str]:
    further = sorted({id_ for group in config.groups() for id_ in group.security_group_ids})
    return list(dict.fromkeys([*network.security_group_ids, *further]))
