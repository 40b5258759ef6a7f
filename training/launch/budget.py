"""Whether a step that failed is started again: a budget that only progress refills.

Pure decisions on plain values; starting things and reading files is supervise.py's work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_FAILURES = 6
MAX_SAME_ERROR = 3
_LONGEST_PAUSE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Failures since the last progress; kept in run/launcher.json, so that a requeue does not refill it."""

    best_step: int = 0
    """Newest saved step seen so far."""
    num_failures: int = 0
    """Failures since best_step last rose."""
    last_error: str = ""
    num_same_error: int = 0
    """How often last_error came in a row without progress."""


@dataclass(frozen=True)
class Decision:
    """Start again after a pause, or give up; the reason is for a person."""

    again: bool
    reason: str
    pause_seconds: float = 0.0


def after_failure(budget: Budget, error: str, step: int) -> tuple[Budget, Decision]:
    """The budget after one more failure at a saved step, and what to do.

    A fault of the hardware goes away with a restart or at least moves; an error that comes back the same
    without a new checkpoint in between is a bug, and is given up sooner.
    """
    if step > budget.best_step:
        budget = Budget(best_step=step)
    same = budget.num_same_error + 1 if error == budget.last_error else 1
    after = replace(budget, num_failures=budget.num_failures + 1, last_error=error, num_same_error=same)
    return after, _decide(after)


def _decide(budget: Budget) -> Decision:
    if budget.num_same_error >= MAX_SAME_ERROR:
        times = f"the same error came {budget.num_same_error} times without progress"
        return Decision(False, times)
    if budget.num_failures >= MAX_FAILURES:
        return Decision(False, f"{budget.num_failures} failures without progress")
    left = MAX_FAILURES - budget.num_failures
    # the first restart is at once; a failure that persists gets longer and longer pauses
    pause = min(_LONGEST_PAUSE_SECONDS, 2.0 ** (budget.num_failures + 1)) if budget.num_failures > 1 else 0.0
    return Decision(True, f"{left} more failures without progress are allowed", pause)
