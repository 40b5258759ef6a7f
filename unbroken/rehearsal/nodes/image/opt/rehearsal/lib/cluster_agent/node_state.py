"""What becomes of one node: a state machine over what is seen of it, without any input or output.

``Watched.see`` is told what was seen and answers with what to do next; ``recovery`` does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

REPLACE = "Action:Replace"
REBOOT = "Action:Reboot"
ACTIONS = (REPLACE, REBOOT)
SLURMD_PORT = 6818
HOST_PORT = 4000
"""The host agent's on a real node; nothing needs to listen there, a refusal is an answer."""
MISSES_FOR_LOST = 2
"""One missed probe is not a failure."""

_OUT = ("fail", "failing", "drain", "drained", "draining", "down")
_STILL_BUSY = ("failing", "draining")


class Reach(Enum):
    """What a connection to the node's port met."""

    OPEN = "open"
    REFUSED = "refused"
    """The host answers: it lives, even if slurmd does not run."""
    SILENT = "silent"


class Phase(Enum):
    """Where a node stands."""

    NEW = "new"
    """Never seen up: being made, or the agent has just started."""
    UP = "up"
    MARKED = "marked"
    """Carries an action; its jobs may still run."""
    REPLACING = "replacing"
    """The service was asked; the next machine is awaited."""
    HELD = "held"
    """Marked, and left alone: recovery is off, or somebody else took the node over."""


class Order(Enum):
    """What to do about a node."""

    LOSE = "lose"
    MARKED = "marked"
    REQUEST = "request"
    RESUME = "resume"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class Sight:
    """What was seen of a node in one round."""

    reach: Reach
    state: str
    """As sinfo shows it; empty where Slurm does not know the node."""
    reason: str
    instance_id: str
    started: str = ""
    """When slurmd started, as Slurm has it; only looked up for a node that is to reboot."""

    @property
    def base_state(self) -> str:
        return self.state.rstrip("*~#!%$@^-+")

    @property
    def out(self) -> bool:
        """Slurm keeps jobs off the node for a reason somebody gave."""
        return self.base_state in _OUT

    @property
    def usable(self) -> bool:
        return bool(self.state) and not self.out and "*" not in self.state


@dataclass
class Watched:
    """One node's history, as far as it matters."""

    name: str
    phase: Phase = Phase.NEW
    action: str = ""
    gone: bool = False
    """Seen away, or under another instance id, since it was marked."""
    misses: int = 0
    reason: str = ""
    instance_id: str = ""
    started: str = ""

    def see(self, sight: Sight, *, automatic: bool = True) -> Order | None:
        """Take one round in and say what to do; ``automatic`` is the cluster's NodeRecovery."""
        self._count(sight)
        fresh = sight.reason != self.reason and sight.reason in ACTIONS and sight.out
        self.reason = sight.reason
        handlers = {
            Phase.NEW: self._new,
            Phase.UP: self._up,
            Phase.MARKED: self._marked,
            Phase.REPLACING: self._replacing,
            Phase.HELD: self._held,
        }
        if fresh and self.phase in (Phase.NEW, Phase.UP):
            return self._mark(sight.reason, Order.MARKED, automatic)
        return handlers[self.phase](sight, automatic)

    @property
    def rebooting(self) -> bool:
        """Waits for a reboot, which may be over before the node was seen away."""
        return self.action == REBOOT and self.phase in (Phase.MARKED, Phase.REPLACING) and not self.gone

    @property
    def port(self) -> int:
        """Where to look: slurmd's port while slurmd is awaited, else one that only shows that the host lives.

        slurmd logs an error for every connection without a message, so it is not looked at for nothing.
        """
        return HOST_PORT if self.phase in (Phase.UP, Phase.MARKED) else SLURMD_PORT

    @property
    def lost(self) -> bool:
        return self.misses >= MISSES_FOR_LOST

    @property
    def unhealthy(self) -> bool:
        return self.phase in (Phase.MARKED, Phase.REPLACING, Phase.HELD) or self.lost

    def _count(self, sight: Sight) -> None:
        self.misses = self.misses + 1 if sight.reach is Reach.SILENT else 0
        changed = bool(self.instance_id) and sight.instance_id != self.instance_id
        away = self.phase is Phase.REPLACING and sight.reach is not Reach.OPEN
        again = bool(self.started and sight.started) and sight.started != self.started
        if self.phase in (Phase.MARKED, Phase.REPLACING) and (changed or self.lost or away or again):
            self.gone = True
        self.instance_id, self.started = sight.instance_id, sight.started

    def _mark(self, action: str, order: Order, automatic: bool) -> Order:
        self.phase = Phase.MARKED if automatic else Phase.HELD
        self.action, self.gone = action, self.lost
        return order

    def _new(self, sight: Sight, _: bool) -> Order | None:
        if sight.reach is Reach.OPEN:
            self.phase = Phase.UP
        return None

    def _up(self, sight: Sight, automatic: bool) -> Order | None:
        if self.lost and not (sight.out and not _ours(sight.reason)):
            return self._mark(REPLACE, Order.LOSE, automatic)
        return None

    def _marked(self, sight: Sight, _: bool) -> Order | None:
        if not self.gone and not sight.out:
            self.phase = Phase.UP
        elif self.gone or sight.base_state not in _STILL_BUSY:
            self.phase = Phase.REPLACING
            return Order.REQUEST
        return None

    def _replacing(self, sight: Sight, _: bool) -> Order | None:
        if not self.gone:
            self.phase = Phase.UP if sight.usable else Phase.REPLACING
            return None
        if sight.reach is not Reach.OPEN:
            return None
        if sight.usable:
            self.phase, self.action = Phase.UP, ""
            return Order.RECOVERED
        if sight.out and not _ours(sight.reason):
            self.phase = Phase.HELD
            return None
        return Order.RESUME if sight.out and sight.base_state not in _STILL_BUSY else None

    def _held(self, sight: Sight, _: bool) -> Order | None:
        if sight.usable and sight.reach is Reach.OPEN:
            self.phase, self.action = Phase.UP, ""
        return None


def _ours(reason: str) -> bool:
    """Slurm appends to a reason once a node stops answering, so the start is what counts later on."""
    as_set = (*ACTIONS, "Not responding", "none", "")
    return reason in as_set or reason.startswith(tuple(f"{action} : " for action in ACTIONS))
