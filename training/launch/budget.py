"""Whether a step that failed is started again: a budget that only progress refills.

Pure decisions on plain values; starting things and reading files is supervise.py's work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from training.launch.failures import blames_a_machine, fingerprint

MAX_FAILURES = 6
MAX_SAME_ERROR = 3
_LONGEST_PAUSE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Failures since the last progress; kept in run/launcher.json, so that a requeue does not refill it."""

    job_id: str = ""
    """Slurm's, of the submission that spends it."""
    best_step: int = 0
    """Newest saved step seen so far."""
    num_failures: int = 0
    """Failures since best_step last rose."""
    last_error: str = ""
    """Fingerprint of the last failure."""
    num_same_error: int = 0
    """How often last_error came in a row without progress."""


@dataclass(frozen=True)
class Decision:
    """Start again after a pause, or give up; the reason is for a person."""

    again: bool
    reason: str
    pause_seconds: float = 0.0
    machine: bool = False
    """Whether a machine is to blame, so that another one may do better."""


def after_failure(budget: Budget, error: str, step: int) -> tuple[Budget, Decision]:
    """The budget after one more failure at a saved step, and what to do.

    A machine's fault goes away with a restart, or moves; an error that comes back the same without a new
    checkpoint in between is a bug, and is given up sooner.
    """
    if step > budget.best_step:
        budget = Budget(job_id=budget.job_id, best_step=step)
    seen = fingerprint(error)
    same = budget.num_same_error + 1 if seen == budget.last_error else 1
    after = replace(budget, num_failures=budget.num_failures + 1, last_error=seen, num_same_error=same)
    return after, _decide(after, blames_a_machine(error))


def _decide(budget: Budget, machine: bool) -> Decision:
    if budget.num_same_error >= MAX_SAME_ERROR and not machine:
        times = f"the same error came {budget.num_same_error} times without progress"
        return Decision(False, times)
    if budget.num_failures >= MAX_FAILURES:
        return Decision(False, f"{budget.num_failures} failures without progress", machine=machine)
    left = MAX_FAILURES - budget.num_failures
    # the first restart is at once; a failure that persists gets longer and longer pauses
    pause = min(_LONGEST_PAUSE_SECONDS, 2.0 ** (budget.num_failures + 1)) if budget.num_failures > 1 else 0.0
    return Decision(True, f"{left} more failures without progress are allowed", pause, machine)
