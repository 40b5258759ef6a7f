"""Runs checks, those of the account together and within a time; what goes wrong is UNKNOWN, never PASS."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from threading import BoundedSemaphore, Thread

from unbroken.aws import AwsError
from unbroken.checks.check import Check
from unbroken.checks.result import LeftOut, Outcome, Result, unknown
from unbroken.checks.subject import Missing, Subject

SECONDS = 90.0
"""For all checks of the account together. One call may take this long where AWS does not answer."""
TOGETHER = 8
NOT_ASKED = "--offline: AWS is not asked"
NOTHING = "nothing in the file asks for it"

Told = Callable[[Result], None]


@dataclass(frozen=True)
class Answers:
    """Everything there is to say, in the order of the checks."""

    results: tuple[Result, ...]
    left_out: tuple[LeftOut, ...]


def answer(
    checks: Sequence[Check], subject: Subject, told: Told = lambda result: None, seconds: float = SECONDS
) -> Answers:
    """Run the checks that apply; ``told`` hears of each result as it comes."""
    left_out = {check.id: left for check in checks if (left := leave_out(check, subject))}
    wanted = [check for check in checks if check.id not in left_out]
    results: dict[str, Result] = {}
    for check in wanted:
        if not check.area.of_account:
            results[check.id] = _run(check, subject)
            told(results[check.id])
    for result in _together([check for check in wanted if check.area.of_account], subject, told, seconds):
        results[result.id] = result
    return Answers(
        tuple(results[check.id] for check in wanted),
        tuple(left_out[check.id] for check in checks if check.id in left_out),
    )


def leave_out(check: Check, subject: Subject) -> LeftOut | None:
    """Why a check does not run, or None."""
    if check.area.of_account and subject.account is None:
        return LeftOut(check.id, check.area.value, NOT_ASKED)
    if check.needs_bundles and isinstance(subject.bundles, Missing):
        return LeftOut(check.id, check.area.value, "there are no bundles", on_purpose=False)
    if check.needs_templates and isinstance(subject.templates, Missing):
        return LeftOut(check.id, check.area.value, "there are no templates", on_purpose=False)
    if not check.applies(subject):
        return LeftOut(check.id, check.area.value, NOTHING)
    return None


def _together(checks: Iterable[Check], subject: Subject, told: Told, seconds: float) -> Iterable[Result]:
    """Results as they come, then UNKNOWN for those that are not done when the time is over.

    The threads are daemons: one that waits for AWS keeps nobody waiting at the end.
    """
    pending = {check.id: check for check in checks}
    done: Queue[Result] = Queue()
    gate = BoundedSemaphore(TOGETHER)
    deadline = time.monotonic() + seconds
    for check in list(pending.values()):
        Thread(target=_worker, args=(check, subject, gate, done), daemon=True, name=check.id).start()
    while pending:
        try:
            result = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        del pending[result.id]
        told(result)
        yield result
    for check in pending.values():
        late = _result(check, _no_answer(seconds), seconds)
        told(late)
        yield late


def _worker(check: Check, subject: Subject, gate: BoundedSemaphore, done: Queue[Result]) -> None:
    with gate:
        done.put(_run(check, subject))


def _run(check: Check, subject: Subject) -> Result:
    start = time.monotonic()
    return _result(check, _outcome(check, subject), time.monotonic() - start)


def _outcome(check: Check, subject: Subject) -> Outcome:
    try:
        return check.run(subject)
    except AwsError as error:
        return unknown(str(error), error.hint)
    except Exception as error:
        return unknown(
            f"the check itself failed: {type(error).__name__}: {error}", "report this as a fault of the check"
        )


def _no_answer(seconds: float) -> Outcome:
    return unknown(
        f"AWS did not answer within {seconds:.0f} seconds", "check the network and the proxy, then try again"
    )


def _result(check: Check, outcome: Outcome, seconds: float) -> Result:
    return Result(check.id, check.area.value, check.asks, outcome, seconds)
