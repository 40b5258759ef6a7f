"""Which node this is: its role, its group and the controllers, found in the files HyperPod writes.

A node has no role of its own in those files. It finds itself by its address and its role by its group.
Sources: AWS developer guide, "Customize SageMaker HyperPod clusters using lifecycle scripts" (the two
files); that workers may read them late, and that Instances may be null, was observed on clusters.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unbroken_node import documents
from unbroken_node.documents import Document
from unbroken_node.errors import DeadlineExceeded, DocumentError, MissingDocument, NodeError
from unbroken_node.host import POLL_SECONDS, Host
from unbroken_node.settings import API, Deployed, Settings, read_deployed, read_settings

RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"
PROVISIONING_PARAMETERS = "/opt/ml/config/provisioning_parameters.json"
# How long the service may take to list this node, and how long a file may look half-written.
LISTED_SECONDS = 300.0
HALF_WRITTEN_SECONDS = 3.0

CONTROLLER, LOGIN, COMPUTE = "controller", "login", "compute"


@dataclass(frozen=True)
class Instance:
    """One entry of resource_config.json."""

    name: str
    identity: str
    """The service's instance id."""
    group: str
    address: str


@dataclass(frozen=True)
class Node:
    """This node: what it is, where the controllers are, and what it was told."""

    role: str
    name: str
    identity: str
    """The service's instance id."""
    group: str
    address: str
    controllers: tuple[str, ...]
    settings: Settings
    deployed: Deployed
    version: str
    """Of the bundle: the hash of its content."""


def discover(host: Host, bundle: Path) -> Node:
    """Find a new node's role; raises DocumentError for a malformed file, NodeError if it is not listed."""
    settings, deployed = read_settings(bundle), read_deployed(bundle)
    _check_provisioning(host, settings)
    return _find(host, settings, deployed, _version(bundle))


def discover_again(host: Host, bundle: Path) -> Node:
    """Find the role of a node that runs, in a bundle that may be newer than the node.

    The service's provisioning_parameters.json is of the day the node was made, so it may lack groups.
    """
    return _find(host, read_settings(bundle), read_deployed(bundle), _version(bundle))


def _find(host: Host, settings: Settings, deployed: Deployed, version: str) -> Node:
    own = own_addresses(host)
    instances = _wait_until_listed(host, settings, own)
    me = next(instance for instance in instances if instance.address in own)
    return Node(
        role=_role(settings, me),
        name=me.name,
        identity=me.identity,
        group=me.group,
        address=me.address,
        controllers=tuple(i.address for i in instances if i.group == settings.controller_group),
        settings=settings,
        deployed=deployed,
        version=version,
    )


def _version(bundle: Path) -> str:
    """Return the bundle's content hash, by which its S3 prefix is named."""
    return hashlib.sha256((bundle / "SHA256SUMS").read_bytes()).hexdigest()[:16]


def own_addresses(host: Host) -> frozenset[str]:
    """Return this node's IPv4 addresses, without loopback."""
    text = host.run("ip", "-json", "-4", "addr", "show").stdout
    found = (info.get("local", "") for link in json.loads(text or "[]") for info in link.get("addr_info", []))
    return frozenset(address for address in found if address and not address.startswith("127."))


def resource_config(host: Host) -> Path:
    """Return where the service says the file is, else its usual place."""
    return Path(os.environ.get("SAGEMAKER_RESOURCE_CONFIG_PATH") or host.path(RESOURCE_CONFIG))


def read_instances(path: Path) -> list[Instance]:
    """Read resource_config.json; raises DocumentError naming the key that is wrong."""
    document = documents.read(path, "resource_config.json")
    instances = list(_instances(document))
    seen: dict[str, Instance] = {}
    for instance in instances:
        other = seen.setdefault(instance.address, instance)
        if other is not instance:
            found = f"{instance.address} at both {other.name} and {instance.name}"
            raise DocumentError("resource_config.json", "InstanceGroups", found, "one instance an address")
    return instances


def _instances(document: Document) -> Iterator[Instance]:
    for group in document.objects("InstanceGroups"):
        name = group.text("Name")
        # A group scaled to zero has null or no Instances at all.
        for entry in group.objects("Instances", nullable=True):
            yield Instance(entry.text("InstanceName"), entry.text("InstanceId"), name, _address(entry))


def _address(entry: Document) -> str:
    text = entry.text("CustomerIpAddress")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise entry.error("CustomerIpAddress", "an IP address") from None


def _check_provisioning(host: Host, settings: Settings) -> None:
    """The service's own file must name the groups that node.json names.

    In `api` mode nobody writes it but the service, if at all, and the groups themselves say what they are.
    """
    if settings.mode == API:
        return
    document = documents.read(host.path(PROVISIONING_PARAMETERS), "provisioning_parameters.json")
    if document.text("workload_manager") != "slurm":
        raise document.error("workload_manager", '"slurm"')
    if document.text("controller_group") != settings.controller_group:
        raise document.error("controller_group", f'"{settings.controller_group}", as in node.json')
    login_group = settings.login_groups[0] if settings.login_groups else None
    if document.optional_text("login_group") != login_group:
        raise document.error("login_group", f"{json.dumps(login_group)}, as in node.json")
    names = {group.text("instance_group_name") for group in document.objects("worker_groups")}
    if names != set(settings.worker_groups):
        raise document.error("worker_groups", f"{', '.join(settings.worker_groups)}, as in node.json")


def _wait_until_listed(host: Host, settings: Settings, own: frozenset[str]) -> list[Instance]:
    """Return all instances once this node and a controller are among them."""
    waiting = _Listing(host, settings, own)
    try:
        host.wait("resource_config.json to list this node", waiting.complete, LISTED_SECONDS)
    except DeadlineExceeded as error:
        raise NodeError(f"{error}: {waiting.missing}") from None
    return waiting.instances


class _Listing:
    """The instances read so far, and what is still missing among them."""

    def __init__(self, host: Host, settings: Settings, own: frozenset[str]) -> None:
        self.host, self.settings, self.own = host, settings, own
        self.path = resource_config(host)
        self.patience = HALF_WRITTEN_SECONDS
        self.instances: list[Instance] = []
        self.missing = ""

    def complete(self) -> bool:
        """Read the file again; a malformed one is given a moment, since it may be half-written."""
        try:
            self.instances = read_instances(self.path)
        except MissingDocument as error:
            self.missing = str(error)
            return False
        except DocumentError:
            self.patience -= POLL_SECONDS
            if self.patience < 0:
                raise
            return False
        self.missing = self._missing()
        return not self.missing

    def _missing(self) -> str:
        listed = {instance.address for instance in self.instances}
        if not self.own & listed:
            return f"none of this node's addresses ({_join(self.own)}) is in it, only {_join(listed)}"
        groups = {instance.group for instance in self.instances}
        if self.settings.controller_group not in groups:
            return f"the controller group {self.settings.controller_group} has no instance"
        return ""


def _role(settings: Settings, me: Instance) -> str:
    if me.group == settings.controller_group:
        return CONTROLLER
    if me.group in settings.login_groups:
        return LOGIN
    if me.group in settings.worker_groups:
        return COMPUTE
    known = [settings.controller_group, *settings.login_groups, *settings.worker_groups]
    expected = f"one of the groups in node.json ({', '.join(known)})"
    raise DocumentError("resource_config.json", "InstanceGroups", f"{me.name} in group {me.group}", expected)


def _join(addresses: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(addresses)) or "none"
