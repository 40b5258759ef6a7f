"""What the service refuses although the request fits the model: names, hooks, roles, network, the controller.

Each rule raises ValidationException with what was found. What the rehearsal does not emulate is refused here
as well, and said to be the rehearsal's limit rather than the service's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from unbroken.catalog import instance_types
from unbroken.rehearsal.hyperpod import lifecycle
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.machines import NodeStore, SecurityGroup, Subnet

Spec = Mapping[str, Any]
SERVICE_PRINCIPAL = "sagemaker.amazonaws.com"
_NOT_EMULATED = (
    "RestrictedInstanceGroups",
    "RestrictedInstanceGroupsConfig",
    "AutoScaling",
    "TieredStorageConfig",
)


_NOT_EMULATED_IN_GROUPS = ("OverrideVpcConfig", "SlurmConfig", "CapacityRequirements", "KubernetesConfig")


def check_emulated(request: Mapping[str, Any]) -> None:
    """Refuse the parts of the API that the rehearsal has not."""
    for name in _NOT_EMULATED:
        if name in request:
            raise validation(f"The rehearsal does not emulate {name}.")
    if "Eks" in request.get("Orchestrator", {}):
        raise validation("The rehearsal emulates Slurm clusters, not Orchestrator.Eks.")


def check_groups(specs: list[Spec]) -> None:
    """Unique names; each group has one type, one hook, and a script to run."""
    counted = Counter(spec["InstanceGroupName"] for spec in specs)
    repeated = sorted(name for name, count in counted.items() if count > 1)
    if repeated:
        raise validation(f"Instance group names must be unique. Found more than once: {', '.join(repeated)}")
    for spec in specs:
        _check_type(spec)
        _check_hooks(spec)
        if spec.get("MinInstanceCount", 0) > spec["InstanceCount"]:
            raise validation(
                f"MinInstanceCount of {spec['InstanceGroupName']} must not exceed its InstanceCount."
            )


def _check_type(spec: Spec) -> None:
    name = spec["InstanceGroupName"]
    for member in _NOT_EMULATED_IN_GROUPS:
        if member in spec:
            raise validation(f"The rehearsal does not emulate {member} (group {name}).")
    if "InstanceRequirements" in spec:
        raise validation(
            f"The rehearsal does not emulate InstanceRequirements ({name}); give one InstanceType."
        )
    if "InstanceType" not in spec:
        raise validation(f"Instance group {name} must specify InstanceType.")
    try:
        instance_types.get(spec["InstanceType"])
    except KeyError:
        raise validation(f"The rehearsal does not know {spec['InstanceType']} (group {name}).") from None


def _check_hooks(spec: Spec) -> None:
    name, config = spec["InstanceGroupName"], spec.get("LifeCycleConfig", {})
    if "OnCreate" in config and "OnInitComplete" in config:
        raise validation(f"LifeCycleConfig of {name}: OnCreate and OnInitComplete exclude each other.")
    if ("OnCreate" in config or "OnInitComplete" in config) != ("SourceS3Uri" in config):
        raise validation(f"LifeCycleConfig of {name}: SourceS3Uri and a script must be given together.")
    if "OnCreate" not in config:
        raise validation(
            f"The rehearsal emulates groups with LifeCycleConfig.OnCreate only ({name} has none)."
        )
    try:
        lifecycle.split_uri(config["SourceS3Uri"])
    except ValueError as error:
        raise validation(f"LifeCycleConfig of {name}: {error}.") from None


def check_roles(store: NodeStore, specs: Iterable[Spec]) -> None:
    """Every execution role exists and trusts the service."""
    for arn in sorted({spec["ExecutionRole"] for spec in specs}):
        role = store.role(arn)
        if role is None or SERVICE_PRINCIPAL not in role.trusted_services:
            raise validation(
                f"Could not assume role {arn}. Please ensure that the role exists and allows principal "
                f"'{SERVICE_PRINCIPAL}' to assume the role."
            )


def check_network(store: NodeStore, vpc_config: Mapping[str, Any]) -> tuple[Subnet, list[SecurityGroup]]:
    """The subnet and the security groups exist and belong together."""
    if len(vpc_config["Subnets"]) > 1:
        raise validation("The rehearsal emulates one subnet for a cluster.")
    subnet = store.subnet(vpc_config["Subnets"][0])
    if subnet is None:
        raise validation(f"The subnet ID '{vpc_config['Subnets'][0]}' does not exist.")
    groups = [_security_group(store, group_id) for group_id in vpc_config["SecurityGroupIds"]]
    strangers = [group.group_id for group in groups if group.vpc_id != subnet.vpc_id]
    if strangers:
        raise validation(
            f"Security groups {', '.join(strangers)} and subnet {subnet.subnet_id} are in different VPCs."
        )
    return subnet, groups


def _security_group(store: NodeStore, group_id: str) -> SecurityGroup:
    group = store.security_group(group_id)
    if group is None:
        raise validation(f"The security group '{group_id}' does not exist.")
    return group


def efa_reachable(groups: Iterable[SecurityGroup]) -> bool:
    """Whether some rules let all traffic of a group in from itself and out to itself."""
    known = list(groups)
    return any(g.self_ingress for g in known) and any(g.self_egress for g in known)


def head_groups(store: NodeStore, specs: list[Spec]) -> tuple[str, str | None]:
    """The groups whose names the bundle's provisioning parameters give as controller and as login group.

    Where the parameters cannot be read the first group goes first, and its boot tells what is wrong.
    """
    given = lifecycle.parameters(store, lifecycle.source_of(specs[0]))
    if given is None:
        return str(specs[0]["InstanceGroupName"]), None
    name = given.get("controller_group")
    matching = [spec for spec in specs if spec["InstanceGroupName"] == name]
    if not matching:
        known = ", ".join(spec["InstanceGroupName"] for spec in specs)
        raise validation(
            f"provisioning_parameters.json names controller_group {name!r}; the groups are {known}."
        )
    check_controller_count(matching[0])
    return str(name), given.get("login_group")


def check_controller_count(spec: Spec) -> None:
    """A cluster needs a controller; more than one is not emulated."""
    if spec["InstanceCount"] < 1:
        raise validation(f"The controller group {spec['InstanceGroupName']} must have an instance.")
    if spec["InstanceCount"] > 1:
        raise validation("The rehearsal emulates one controller node, not several.")
