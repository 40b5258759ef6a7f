"""What a destroy left: the embedded AWS before and after, less what the cluster file says to keep."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.ops.rehearse.context import Context


@dataclass(frozen=True)
class Leftovers:
    """Resources, as `type name`."""

    leftovers: list[str]
    kept: list[str]


def inventory(context: Context) -> frozenset[str]:
    """Everything the embedded AWS holds now."""
    raise NotImplementedError


def compare(context: Context) -> Leftovers:
    """What is there now and was not before the deploy."""
    raise NotImplementedError
