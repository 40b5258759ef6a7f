"""What a destroy left: the embedded AWS before and after, with what was kept on purpose told apart."""

from __future__ import annotations

from unbroken.ops.rehearse.context import Context
from unbroken.rehearsal.aws.inventory import Inventory, Item, inventory, leftovers


def take(context: Context) -> Inventory:
    """Everything the embedded AWS holds now."""
    return inventory(context.server.port, context.config.region)


def compare(context: Context) -> tuple[list[str], list[str]]:
    """What should be gone, and what is kept on purpose, since before the deploy."""
    found = leftovers(context.before or Inventory(frozenset()), take(context))
    return [_words(item) for item in found.unexpected], [_words(item) for item in found.retained]


def _words(item: Item) -> str:
    return f"{item.kind} {item.identifier}"
