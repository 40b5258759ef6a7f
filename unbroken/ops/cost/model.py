"""What a bill is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Until(Enum):
    """What ends an item's cost."""

    CLUSTER = "cluster"
    """The cluster's end; the other stacks may stay."""
    DOWN = "down"
    """``unbroken down``."""
    REMOVED = "removed"
    """Nobody but its owner: the cluster file keeps it."""


@dataclass(frozen=True)
class Item:
    """One thing that costs while it exists, used or not."""

    what: str
    """Which part of the cluster: a group's name, ``NAT gateway``."""
    detail: str
    """How much of which kind, for people."""
    key: str
    """What one is called in the price list."""
    count: float | None
    """How many; None where no source tells."""
    until: Until
    prepaid: bool = False
    """Paid with a training plan, whose price is its own."""


@dataclass(frozen=True)
class ByUse:
    """Something that costs by how much it is used, which no cluster file tells."""

    what: str
    measure: str


def until(deletion: str) -> Until:
    """When a part ends that the cluster file says to ``retain`` or ``delete``."""
    return Until.REMOVED if deletion == "retain" else Until.DOWN
