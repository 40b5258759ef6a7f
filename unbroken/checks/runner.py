"""Runs checks, those of the account together and within a time; what goes wrong is UNKNOWN, never PASS."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from threading import BoundedSemaphore, Thread
from typing import TypeVar

from unbroken.aws import AwsError
from unbroken.checks.check import Check
from unbroken.checks.result import LeftOut, Outcome, Result, unknown
from unbroken.checks.subject import Missing, Subject

SECONDS = 90.0
"""For all checks of the account together. One call may take this long where AWS does not answer."""
FIRST_SECONDS = 30.0
"""For the first of them, alone."""
TOGETHER = 8
NOT_ASKED = "--offline: AWS is not asked"
NOTHING = "nothing in the file asks for it"
UNANSWERED = "account-identity was not answered"
FIRST = "account-identity"
"""Without an answer to this one, the others of the account would all tell the same."""

T = TypeVar("T")
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
    of_account = [check for check in wanted if check.area.of_account]
    results |= _of_account(of_account, subject, told, seconds)
    left_out |= {
        check.id: LeftOut(check.id, check.area.value, UNANSWERED, on_purpose=False)
        for check in of_account
        if check.id not in results
    }
    return Answers(_in_order(checks, results), _in_order(checks, left_out))


def _in_order(checks: Sequence[Check], found: Mapping[str, T]) -> tuple[T, ...]:
    return tuple(found[check.id] for check in checks if check.id in found)


def _of_account(checks: Sequence[Check], subject: Subject, told: Told, seconds: float) -> dict[str, Result]:
    """The first question alone; the others only where it was answered."""
    first = [check for check in checks if check.id == FIRST]
    results = _together(first, subject, told, min(seconds, FIRST_SECONDS))
    if first and subject.account and not subject.account.known:
        return results
    return results | _together([one for one in checks if one.id != FIRST], subject, told, seconds)


def leave_out(check: Check, subject: Subject) -> LeftOut | None:
    """Why a check does not run, or None."""
    if check.area.of_account and subject.account is None:
        return LeftOut(check.id, check.area.value, NOT_ASKED)
    if check.needs_bundles and isinstance(subject.bundles, Missing):
        return LeftOut(check.id, check.area.value, "there are no bundles", on_purpose=False)
    if check.needs_templates and isinstance(subject.templates, Missing):
        return LeftOut(check.id, check.area.value, "there are no templates", on_purpose=False)
    if not _applies(check, subject):
        return LeftOut(check.id, check.area.value, NOTHING)
    return None


def _applies(check: Check, subject: Subject) -> bool:
    """A check that cannot even say whether it applies is run, and tells its error itself."""
    try:
        return check.applies(subject)
    except Exception:
        return True


def _together(checks: Iterable[Check], subject: Subject, told: Told, seconds: float) -> dict[str, Result]:
    """Results by id, UNKNOWN for those that are not done when the time is over.

    The threads are daemons: one that waits for AWS keeps nobody waiting at the end.
    """
    pending = {check.id: check for check in checks}
    done: Queue[Result] = Queue()
    gate = BoundedSemaphore(TOGETHER)
    for check in pending.values():
        Thread(target=_worker, args=(check, subject, gate, done), daemon=True, name=check.id).start()
    results = {}
    for result in _within(seconds, done, len(pending)):
        results[result.id] = result
        told(result)
    for name in [name for name in pending if name not in results]:
        results[name] = _result(pending[name], _no_answer(seconds), seconds)
        told(results[name])
    return results


def _within(seconds: float, done: Queue[Result], number: int) -> Iterator[Result]:
    """So many results, or those that come in time."""
    deadline = time.monotonic() + seconds
    for _ in range(number):
        try:
            yield done.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            return


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
