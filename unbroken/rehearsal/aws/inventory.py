"""What exists on the embedded AWS, and what a deploy and destroy left behind.

Taken over the public APIs, as an auditor of a real account would; what is listed, and how, is in
``listing.py``. Bootstrap's own stack is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.listing import LEFT_ALONE, SOURCES, stacks

BOOTSTRAP_STACK = "CDKToolkit"
LEFT_BY_AWS = "/aws/sagemaker/Clusters/"
"""HyperPod's log groups are the service's own and are not deleted with the cluster (inferred)."""


@dataclass(frozen=True, order=True)
class Item:
    """One thing that exists."""

    kind: str
    """Such as ``bucket`` or ``log group``."""
    identifier: str


@dataclass(frozen=True)
class Inventory:
    """Everything that exists at one moment."""

    items: frozenset[Item]
    retained: frozenset[str] = frozenset()
    """Physical ids of resources that stacks ever let go of by their DeletionPolicy."""


@dataclass(frozen=True)
class Leftovers:
    """What is there after that was not there before."""

    retained: list[Item] = field(default_factory=list)
    """Kept on purpose: by a DeletionPolicy, part of something that was, or left by the service itself."""
    unexpected: list[Item] = field(default_factory=list)


def inventory(port: int, region: str) -> Inventory:
    """Everything on the embedded AWS at this port."""
    clients = Clients(port, region)
    bootstrap = _physical_ids(clients, BOOTSTRAP_STACK)
    found = (Item(kind, name) for kind, names in SOURCES.items() for name in names(clients))
    items = (item for item in found if item.identifier not in bootstrap | {BOOTSTRAP_STACK})
    return Inventory(frozenset(items), frozenset(_retained(clients)))


def leftovers(before: Inventory, after: Inventory) -> Leftovers:
    """What ``after`` has beyond ``before``, with what was kept on purpose told apart."""
    new = sorted(after.items - before.items)
    return Leftovers(
        retained=[item for item in new if _kept(item, after)],
        unexpected=[item for item in new if not _kept(item, after)],
    )


def _kept(item: Item, after: Inventory) -> bool:
    """Itself retained, or part of something retained (``<it> of <that>``), or AWS's own to end."""
    owner = item.identifier.split(" of ")[-1]
    by_aws = item.kind in LEFT_ALONE or item.identifier.startswith(LEFT_BY_AWS)
    return by_aws or bool({item.identifier, owner} & after.retained)


def _retained(clients: Clients) -> Iterable[str]:
    """Physical ids that stack deletions and updates skipped, by the stacks' events."""
    cloudformation = clients.of("cloudformation")
    for stack in stacks(clients, include_gone=True):
        pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack["StackId"])
        for page in pages:
            for event in page["StackEvents"]:
                if event["ResourceStatus"] == "DELETE_SKIPPED":
                    yield event["PhysicalResourceId"]


def _physical_ids(clients: Clients, stack_name: str) -> frozenset[str]:
    if not any(stack["StackName"] == stack_name for stack in stacks(clients, include_gone=False)):
        return frozenset()
    pages = clients.of("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack_name)
    return frozenset(
        resource["PhysicalResourceId"] for page in pages for resource in page["StackResourceSummaries"]
    )
