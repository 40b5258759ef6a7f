"""What every part of the service shares: the way outside, the clusters, and the one lock around them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from unbroken.rehearsal.hyperpod.machines import Machines, NodeStore
from unbroken.rehearsal.hyperpod.settings import Clock, Events, Settings
from unbroken.rehearsal.hyperpod.states import Cluster, TrainingPlan


def _in_thread(name: str, work: Callable[[], None]) -> None:
    """Run work in a thread of its own, which ends with the process."""
    threading.Thread(target=work, name=f"hyperpod-{name}", daemon=True).start()


@dataclass
class World:
    """Hold ``changed`` (a condition on the one lock) to read or change clusters, never during slow work."""

    machines: Machines
    aws: NodeStore
    events: Events
    clock: Clock
    settings: Settings
    clusters: dict[str, Cluster] = field(default_factory=dict)
    """By name."""
    plans: dict[str, TrainingPlan] = field(default_factory=dict)
    """Training plans of the account, by ARN."""
    changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))
    closing: threading.Event = field(default_factory=threading.Event)
    spawn: Callable[[str, Callable[[], None]], None] = _in_thread
    """Starts a long operation under a name; tests run it at once instead."""
