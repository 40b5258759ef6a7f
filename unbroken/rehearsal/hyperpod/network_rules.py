"""Which subnet and security groups a group's nodes get, and what EFA needs of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.machines import NodeStore, SecurityGroup
from unbroken.rehearsal.hyperpod.states import Network

Spec = Mapping[str, Any]


def network(store: NodeStore, vpc_config: Mapping[str, Any]) -> Network:
    """The subnet and the security groups, which exist and belong together."""
    if len(vpc_config["Subnets"]) > 1:
        raise validation("The rehearsal emulates one subnet for a group.")
    subnet = store.subnet(vpc_config["Subnets"][0])
    if subnet is None:
        raise validation(f"The subnet ID '{vpc_config['Subnets'][0]}' does not exist.")
    groups = [_security_group(store, group_id) for group_id in vpc_config["SecurityGroupIds"]]
    strangers = [group.group_id for group in groups if group.vpc_id != subnet.vpc_id]
    if strangers:
        raise validation(
            f"Security groups {', '.join(strangers)} and subnet {subnet.subnet_id} are in different VPCs."
        )
    return Network(subnet, tuple(group.group_id for group in groups))


def _security_group(store: NodeStore, group_id: str) -> SecurityGroup:
    group = store.security_group(group_id)
    if group is None:
        raise validation(f"The security group '{group_id}' does not exist.")
    return group


def networks(store: NodeStore, specs: Iterable[Spec], default: Network) -> dict[str, Network]:
    """Each group's network by its name: its own where OverrideVpcConfig gives one, in the cluster's VPC."""
    return {spec["InstanceGroupName"]: _of_group(store, spec, default) for spec in specs}


def _of_group(store: NodeStore, spec: Spec, default: Network) -> Network:
    if "OverrideVpcConfig" not in spec:
        return default
    own = network(store, spec["OverrideVpcConfig"])
    if own.subnet.vpc_id != default.subnet.vpc_id:
        raise validation(
            f"OverrideVpcConfig of {spec['InstanceGroupName']}: subnet {own.subnet.subnet_id} is in "
            f"{own.subnet.vpc_id}, and the cluster is in {default.subnet.vpc_id}."
        )
    return own


def efa_reachable(groups: Iterable[SecurityGroup]) -> bool:
    """Whether some rules let all traffic of a group in from itself and out to itself."""
    known = list(groups)
    return any(g.self_ingress for g in known) and any(g.self_egress for g in known)
