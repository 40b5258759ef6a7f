"""All sections of the cluster file, each right by itself."""

from __future__ import annotations

import re
from typing import Annotated, Literal

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
from unbroken.config.section import Path, Section, refusal
from unbroken.config.slurm import SlurmConfig
from unbroken.config.storage import StorageConfig
from unbroken.config.suggest import suggestion
from unbroken.config.tiered_storage import TieredStorageConfig
from unbroken.config.training import TrainingConfig
from unbroken.config.user import UserConfig

OWN_TAGS = "unbroken:"
_CDK_TAGS = "aws-cdk:"
"""As ``aws-cdk:auto-delete-objects``, which lets a bucket be emptied."""
CLUSTER_TAG = f"{OWN_TAGS}cluster"
"""Carries the cluster's name, on each stack and on all that takes tags: what lacks it is never touched.

The project's version is no tag: each release would then touch every resource, the cluster among them.
"""


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
    seen: dict[str, str] = {}
    for key, text in value.items():
        _tag(key, text)
        if (other := seen.setdefault(key.lower(), key)) != key:
            # IAM does not tell keys apart by case (user guide, "Tagging IAM resources"); roles get all tags
            raise refusal(f"has {other!r} and {key!r}, which are one tag of a role", "keep one of them")
    if len(value) > 40:
        raise refusal(f"are {len(value)} tags; AWS takes 50, CDK's and ours among them", "use at most 40")
    return value


def _tag(key: str, text: str) -> None:
    if key.lower().startswith("aws:") or not 1 <= len(key) <= 128 or len(text) > 256:
        raise refusal(
            f"has a tag AWS refuses: {key[:40]!r} (key 1-128 characters, not aws:, value at most 256)",
            "use a tag such as team: research",
        )
    if not re.fullmatch(r"[\w .:/=+@-]*", key + text):
        rule = f"has a tag AWS refuses: {key[:40]!r} (letters, digits, spaces and _.:/=+-@)"
        raise refusal(rule, "use a tag such as team: research")
    if key.lower().startswith(OWN_TAGS):
        raise refusal(f"sets {key!r}, by which this project knows its own", "use another key")
    if key.lower().startswith(_CDK_TAGS):
        raise refusal(f"sets {key!r}, by which CDK knows what it may delete", "use another key")


class Sections(Section):
    """The fields of ClusterConfig, without the rules between them."""

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
    """Groups of login nodes, if any; several in ``api`` mode only."""
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

    @property
    def own_tags(self) -> dict[str, str]:
        """The file's tags, and the one by which this project knows its own."""
        return {**self.tags, CLUSTER_TAG: self.name}

    def groups(self) -> list[InstanceGroup]:
        """All groups: controller, login, workers in file order."""
        return [self.controller_group, *self.login_groups, *self.worker_groups]

    def placed(self) -> list[tuple[Path, InstanceGroup]]:
        """All groups, each with its place in the file."""
        found: list[tuple[Path, InstanceGroup]] = [(("controller_group",), self.controller_group)]
        found += [(("login_groups", index), group) for index, group in enumerate(self.login_groups)]
        found += [(("worker_groups", index), group) for index, group in enumerate(self.worker_groups)]
        return found
