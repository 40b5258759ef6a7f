"""Which group is what in Slurm: by its own SlurmConfig, or by the bundle's provisioning parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import lifecycle
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.machines import NodeStore
from unbroken.rehearsal.hyperpod.states import Slurm

Spec = Mapping[str, Any]


def parts(store: NodeStore, request: Mapping[str, Any], specs: list[Spec]) -> Slurm:
    """The controller's group and the others; raises ValidationException for what does not fit together."""
    told = [spec["InstanceGroupName"] for spec in specs if "SlurmConfig" in spec]
    if not told and "Slurm" not in request.get("Orchestrator", {}):
        return by_parameters(store, specs)
    missing = [spec["InstanceGroupName"] for spec in specs if "SlurmConfig" not in spec]
    if missing:
        raise validation(f"Every instance group must have a SlurmConfig; missing in {', '.join(missing)}.")
    return by_api(specs)


def by_api(specs: list[Spec]) -> Slurm:
    """From the groups' SlurmConfig."""
    kinds: dict[str, list[str]] = {}
    for spec in specs:
        kinds.setdefault(spec["SlurmConfig"]["NodeType"], []).append(spec["InstanceGroupName"])
    controllers = kinds.get("Controller", [])
    if len(controllers) != 1:
        found = ", ".join(controllers) or "none"
        raise validation(f"Exactly one instance group must be of NodeType Controller; found {found}.")
    _check_partitions(specs)
    check_controller_count(next(s for s in specs if s["InstanceGroupName"] == controllers[0]))
    partitions = {
        spec["InstanceGroupName"]: name
        for spec in specs
        for name in spec["SlurmConfig"].get("PartitionNames", [])
    }
    return Slurm(controllers[0], tuple(kinds.get("Login", [])), partitions, by_api=True)


def _check_partitions(specs: list[Spec]) -> None:
    for spec in specs:
        config = spec["SlurmConfig"]
        if config["NodeType"] != "Compute" and config.get("PartitionNames"):
            raise validation(
                f"PartitionNames of {spec['InstanceGroupName']}: only groups of NodeType Compute have them."
            )
        if spec.get("LifeCycleConfig", {}).get("OnCreate"):
            raise validation(
                f"The rehearsal emulates SlurmConfig with OnInitComplete or no script, not with OnCreate "
                f"({spec['InstanceGroupName']})."
            )


def by_parameters(store: NodeStore, specs: list[Spec]) -> Slurm:
    """From provisioning_parameters.json, without which only the customer's own script could start Slurm.

    Where the parameters cannot be read the first group goes first, and its boot tells what is wrong.
    """
    source = lifecycle.source_of(specs[0])
    if source is None or source.hook != "OnCreate":
        raise validation(
            f"Instance group {specs[0]['InstanceGroupName']} has no SlurmConfig, so it needs "
            "LifeCycleConfig.OnCreate and a provisioning_parameters.json beside that script."
        )
    given = lifecycle.parameters(store, source)
    if given is None:
        return Slurm(str(specs[0]["InstanceGroupName"]))
    name = given.get("controller_group")
    matching = [spec for spec in specs if spec["InstanceGroupName"] == name]
    if not matching:
        known = ", ".join(spec["InstanceGroupName"] for spec in specs)
        raise validation(
            f"provisioning_parameters.json names controller_group {name!r}; the groups are {known}."
        )
    check_controller_count(matching[0])
    login = given.get("login_group")
    return Slurm(str(name), (str(login),) if login else ())


def check_controller_count(spec: Spec) -> None:
    """A cluster needs a controller; more than one is not emulated."""
    if spec["InstanceCount"] < 1:
        raise validation(f"The controller group {spec['InstanceGroupName']} must have an instance.")
    if spec["InstanceCount"] > 1:
        raise validation("The rehearsal emulates one controller node, not several.")


def check_orchestrator(request: Mapping[str, Any], *, continuous: bool) -> None:
    """An external accounting database comes with continuous provisioning only."""
    database = request.get("Orchestrator", {}).get("Slurm", {}).get("AccountingDatabase")
    if database is not None and not continuous:
        raise validation("Orchestrator.Slurm.AccountingDatabase needs NodeProvisioningMode Continuous.")
