"""What the service refuses although the request fits the model: names, hooks, volumes, counts, roles.

Each rule raises ValidationException with what was found. What the rehearsal does not emulate is refused here
as well, and said to be the rehearsal's limit rather than the service's. Rules about Slurm are in
``slurm_rules.py``, about the network in ``network_rules.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from unbroken.catalog import instance_types
from unbroken.rehearsal.hyperpod import lifecycle
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.machines import NodeStore

Spec = Mapping[str, Any]
SERVICE_PRINCIPAL = "sagemaker.amazonaws.com"
_NOT_EMULATED = ("RestrictedInstanceGroups", "RestrictedInstanceGroupsConfig", "AutoScaling")
_NOT_EMULATED_IN_GROUPS = ("InstanceRequirements", "KubernetesConfig", "NetworkInterface")


def check_emulated(request: Mapping[str, Any]) -> None:
    """Refuse the parts of the API that the rehearsal has not."""
    for name in _NOT_EMULATED:
        if name in request:
            raise validation(f"The rehearsal does not emulate {name}.")
    if "Eks" in request.get("Orchestrator", {}):
        raise validation("The rehearsal emulates Slurm clusters, not Orchestrator.Eks.")


def check_groups(specs: list[Spec], *, continuous: bool) -> None:
    """Unique names; each group has one type, one hook at most, and volumes and counts in order."""
    counted = Counter(spec["InstanceGroupName"] for spec in specs)
    repeated = sorted(name for name, count in counted.items() if count > 1)
    if repeated:
        raise validation(f"Instance group names must be unique. Found more than once: {', '.join(repeated)}")
    for spec in specs:
        _check_type(spec)
        _check_hooks(spec)
        _check_counts(spec, continuous=continuous)
        _check_volumes(spec)
        if len(spec.get("CapacityRequirements", {})) > 1:
            raise validation(
                f"CapacityRequirements of {spec['InstanceGroupName']} must name one of its kinds."
            )


def _check_type(spec: Spec) -> None:
    name = spec["InstanceGroupName"]
    for member in _NOT_EMULATED_IN_GROUPS:
        if member in spec:
            raise validation(f"The rehearsal does not emulate {member} (group {name}).")
    if "InstanceType" not in spec:
        raise validation(f"Instance group {name} must specify InstanceType.")
    try:
        instance_types.get(spec["InstanceType"])
    except KeyError:
        raise validation(f"The rehearsal does not know {spec['InstanceType']} (group {name}).") from None


def _check_hooks(spec: Spec) -> None:
    name, config = spec["InstanceGroupName"], spec.get("LifeCycleConfig", {})
    hooks = [hook for hook in lifecycle.HOOKS if hook in config]
    if len(hooks) > 1:
        raise validation(f"LifeCycleConfig of {name}: OnCreate and OnInitComplete exclude each other.")
    if bool(hooks) != ("SourceS3Uri" in config):
        raise validation(f"LifeCycleConfig of {name}: SourceS3Uri and a script must be given together.")
    try:
        lifecycle.split_uri(config.get("SourceS3Uri", "s3://none"))
    except ValueError as error:
        raise validation(f"LifeCycleConfig of {name}: {error}.") from None


def _check_counts(spec: Spec, *, continuous: bool) -> None:
    name, minimum = spec["InstanceGroupName"], spec.get("MinInstanceCount")
    if minimum is None:
        return
    if not continuous:
        raise validation(f"MinInstanceCount of {name} needs NodeProvisioningMode Continuous.")
    if minimum > spec["InstanceCount"]:
        raise validation(f"MinInstanceCount of {name} must not exceed its InstanceCount.")


def _check_volumes(spec: Spec) -> None:
    name = spec["InstanceGroupName"]
    kinds = Counter(kind for kind, _ in _volumes(spec))
    repeated = sorted(kind for kind, count in kinds.items() if count > 1)
    if repeated:
        raise validation(f"InstanceStorageConfigs of {name} has more than one {' and '.join(repeated)}.")
    for kind, volume in _volumes(spec):
        sized = "VolumeSizeInGB" in volume
        if kind == "root EbsVolumeConfig" and (sized or "VolumeKmsKeyId" not in volume):
            raise validation(
                f"EbsVolumeConfig of {name}: with RootVolume a VolumeKmsKeyId must be specified and a "
                "VolumeSizeInGB must not; the size of the root volume is determined by the service."
            )
        if kind == "EbsVolumeConfig" and not sized:
            raise validation(f"EbsVolumeConfig of {name} must specify VolumeSizeInGB.")


def _volumes(spec: Spec) -> list[tuple[str, Mapping[str, Any]]]:
    """Each storage configuration with its kind; a root volume is a kind of its own."""
    return [
        (f"root {kind}" if config.get("RootVolume") else kind, config)
        for item in spec.get("InstanceStorageConfigs", [])
        for kind, config in item.items()
    ]


def check_roles(store: NodeStore, specs: Iterable[Spec]) -> None:
    """Every execution role exists and trusts the service."""
    for arn in sorted({spec["ExecutionRole"] for spec in specs}):
        role = store.role(arn)
        if role is None or SERVICE_PRINCIPAL not in role.trusted_services:
            raise validation(
                f"Could not assume role {arn}. Please ensure that the role exists and allows principal "
                f"'{SERVICE_PRINCIPAL}' to assume the role."
            )
