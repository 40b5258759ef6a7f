"""The cluster file as a whole, and the rules between its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from unbroken.catalog import regions
from unbroken.config.budget import BudgetConfig
from unbroken.config.encryption import EncryptionConfig
from unbroken.config.groups import ControllerGroup, InstanceGroup, LoginGroup, WorkerGroup
from unbroken.config.home import HomeConfig
from unbroken.config.identity import IdentityConfig
from unbroken.config.logs import LogsConfig
from unbroken.config.network import NetworkConfig
from unbroken.config.observability import ObservabilityConfig
from unbroken.config.section import Fault, Section, refusal
from unbroken.config.slurm import SlurmConfig
from unbroken.config.storage import StorageConfig
from unbroken.config.suggest import suggestion
from unbroken.config.tiered_storage import TieredStorageConfig
from unbroken.config.training import TrainingConfig
from unbroken.config.user import UserConfig

AWS_RESERVED_ADDRESSES = 5
"""In every subnet (Amazon VPC user guide, "Subnet sizing")."""
OWN_TAGS = "unbroken:"
EVERY_NODES_PARTITION = "dev"
"""HyperPod's default partition; it holds every node, whatever the cluster file says (observed)."""


def _cluster_name(value: str) -> str:
    # The stacks are named after the cluster, so it begins with a letter, as CloudFormation wants.
    if len(value) > 63 or not re.fullmatch(r"[a-zA-Z](-*[a-zA-Z0-9])*", value):
        raise refusal(
            "is not a cluster name: a letter, then letters, digits and hyphens between them, at most 63",
            "use a name such as ml-cluster",
        )
    return value


def _region(value: str) -> str:
    if value not in regions.REGIONS:
        raise refusal(
            "is not an AWS region this version knows",
            suggestion(value, regions.REGIONS) or "use a region such as us-west-2",
        )
    return value


def _tags(value: dict[str, str]) -> dict[str, str]:
    for key, text in value.items():
        if key.lower().startswith("aws:") or not 1 <= len(key) <= 128 or len(text) > 256:
            raise refusal(
                f"has a tag AWS refuses: {key[:40]!r} (key 1-128 characters, not aws:, value at most 256)",
                "use a tag such as team: research",
            )
        if key.startswith(OWN_TAGS):
            raise refusal(f"sets {key!r}, by which this project knows its own", "use another key")
    if len(value) > 40:
        raise refusal(f"are {len(value)} tags; AWS takes 50, CDK's and ours among them", "use at most 40")
    return value


class ClusterConfig(Section):
    """One HyperPod cluster with Slurm, all that it stands on, and its job."""

    name: Annotated[str, AfterValidator(_cluster_name)]
    """Name of the cluster; the stacks are called ``<name>-network`` and so on."""
    region: Annotated[
        str, AfterValidator(_region), WithJsonSchema({"type": "string", "enum": list(regions.REGIONS)})
    ] = "us-west-2"
    """AWS region."""
    tags: Annotated[dict[str, str], AfterValidator(_tags)] = Field(default_factory=dict)
    """Tags put on everything that takes tags."""
    node_recovery: Literal["Automatic", "None"] = "Automatic"
    """Whether HyperPod replaces faulty nodes by itself."""
    node_provisioning: Literal["None", "Continuous"] = "None"
    """``Continuous``: in service as soon as the controller is, and other nodes come as capacity does."""
    termination_protection: bool = False
    """Whether CloudFormation refuses to delete the stacks until this is turned off."""
    network: NetworkConfig = NetworkConfig()
    """Where the cluster runs."""
    encryption: EncryptionConfig = EncryptionConfig()
    """Whose key data at rest is encrypted with."""
    storage: StorageConfig = StorageConfig()
    """The shared file system and its bucket."""
    home: HomeConfig | None = None
    """A file system of its own for home directories; on the shared one unless given."""
    identity: IdentityConfig = IdentityConfig()
    """Roles."""
    slurm: SlurmConfig = SlurmConfig()
    """How HyperPod learns of Slurm."""
    controller_group: ControllerGroup = ControllerGroup()
    """The controller."""
    login_groups: Annotated[list[LoginGroup], Field(max_length=50)] = Field(default_factory=list)
    """Groups of login nodes, if any."""
    worker_groups: Annotated[list[WorkerGroup], Field(min_length=1, max_length=98)]
    """Groups of nodes that run jobs."""
    tiered_storage: TieredStorageConfig | None = None
    """Memory of the nodes as a tier for checkpoints; off unless given."""
    logs: LogsConfig = LogsConfig()
    """How long logs are kept."""
    observability: ObservabilityConfig = ObservabilityConfig()
    """Prometheus and Grafana."""
    budget: BudgetConfig | None = None
    """A monthly budget with alarms; none unless given."""
    user: UserConfig = UserConfig()
    """Who submits jobs."""
    training: TrainingConfig = TrainingConfig()
    """The job."""

    def groups(self) -> list[InstanceGroup]:
        """All groups: controller, login, workers in file order."""
        return [self.controller_group, *self.login_groups, *self.worker_groups]

    def faults(self) -> Iterator[Fault]:
        """The rules between sections."""
        yield from between_sections(self.model_dump())
        yield from self._too_few_addresses()
        yield from self._shared_folders()
        yield from self._mixed_partition()

    def _too_few_addresses(self) -> Iterator[Fault]:
        nodes = sum(group.num_instances for group in self.groups())
        subnet = IPv4Network(self.network.private_subnet_cidr)
        free = subnet.num_addresses - AWS_RESERVED_ADDRESSES
        if nodes > free:
            yield Fault(
                ("network", "private_subnet_cidr"),
                str(subnet),
                f"has {free} addresses for {nodes} nodes",
                "use a larger range; nodes with several EFA interfaces need more than one address each",
            )

    def _shared_folders(self) -> Iterator[Fault]:
        """On the shared file system, the home, the training code and the data bucket's mirror stay apart."""
        home, code = self.user.name, "unbroken"
        if home == code:
            rule = f"would have its home in {self.storage.mount_path}/{code}, where the training code is"
            yield Fault(("user", "name"), home, rule, "use a name such as ubuntu")
        for index, repository in enumerate(self.storage.data_repositories):
            data = repository.path.split("/")[1]
            if data in (home, code):
                rule = f"is where {'the home of the user' if data == home else 'the training code'} is"
                where = ("storage", "data_repositories", index, "path")
                yield Fault(where, repository.path, rule, "use a path such as /data")
        default = TrainingConfig.model_fields["python"].default
        if self.training.python == default and not default.startswith(f"{self.storage.mount_path}/"):
            rule = f"is not on the file system, which is mounted at {self.storage.mount_path}"
            hint = f"set it to {self.storage.mount_path}/unbroken/env/bin/python3"
            yield Fault(("training", "python"), default, rule, hint)

    def _mixed_partition(self) -> Iterator[Fault]:
        """The job runs on the first worker group, so its partition must not hold nodes of another type."""
        types = {group.instance_type for group in self.worker_groups}
        if len(types) > 1 and self.worker_groups[0].partition == EVERY_NODES_PARTITION:
            yield Fault(
                ("worker_groups", 0, "partition"),
                EVERY_NODES_PARTITION,
                "holds every node of the cluster, so the job could get nodes of another type",
                "give the first group a partition of its own, such as train",
            )


def between_sections(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Group names are unique, and the zone lies in the region.

    Works on the file's plain data, so that these rules are told even when a section has a fault of its own.
    """
    yield from _repeated_names(data)
    region = _text(data, "region") or ClusterConfig.model_fields["region"].default
    zone = _text(data, "network", "availability_zone_id") or NetworkConfig().availability_zone_id
    prefix = regions.zone_id_prefix(region) if region in regions.REGIONS else None
    if prefix and not zone.startswith(f"{prefix}-"):
        yield Fault(
            ("network", "availability_zone_id"),
            zone,
            f"is not a zone of {region}",
            f"use the id of one of its zones, such as {prefix}-az1, or change region",
        )


def _repeated_names(data: Mapping[str, Any]) -> Iterator[Fault]:
    seen = {_text(data, "controller_group", "name") or ControllerGroup().name}
    for path in (*_indexed(data, "login_groups"), *_indexed(data, "worker_groups")):
        name = _text(data, *path, "name") or (LoginGroup().name if path[0] == "login_groups" else None)
        if name in seen:
            yield Fault((*path, "name"), name, "names two groups", "give each group its own name")
        if name:
            seen.add(name)


def _indexed(data: Mapping[str, Any], section: str) -> list[tuple[str, int]]:
    groups = data.get(section)
    return [(section, index) for index in range(len(groups) if isinstance(groups, list) else 0)]


def _text(data: Any, *path: str | int) -> str | None:
    """The text at ``path``, or None where there is none or it is something else."""
    for step in path:
        if isinstance(step, int):
            data = data[step]
        else:
            data = data.get(step) if isinstance(data, Mapping) else None
    return data if isinstance(data, str) else None
