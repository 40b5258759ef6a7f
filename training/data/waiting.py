"""Waiting for data that another process is writing. How several ranks wait is training/together.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

Look = Callable[[], int]
"""How much is there by now. Raises DataError once no more will come."""

POLL_SECONDS = 0.5


class Wait(Protocol):
    """Looks until there is enough; returns how much is there for everyone who waits."""

    def __call__(self, look: Look, total: int, what: str) -> int:
        """Return once there are `total`; `what` is it that is waited for, in words."""
        ...


def alone(look: Look, total: int, what: str) -> int:
    """Wait as a process that has no others beside it."""
    while (there := look()) < total:
        time.sleep(POLL_SECONDS)
    return there
