"""Who may do what, by simulation: nothing is tried.

The simulator knows the policies of the principal, its boundary and the organization's; not policies of
resources, and not what a condition decides by values that are known only later (then the answer is UNKNOWN).
"""

from __future__ import annotations

from collections.abc import Iterable

from unbroken.aws.iam import Decision
from unbroken.checks.account.names import place
from unbroken.checks.account.needs import Need
from unbroken.checks.result import Outcome, failed, listed, passed, unknown
from unbroken.checks.subject import Subject


def verdict_on(decisions: Iterable[Decision], who: str, fix: str) -> Outcome:
    """PASS where everything is allowed; a denial that a condition may turn is UNKNOWN."""
    known = list(decisions)
    if not known:
        return unknown("the simulator gave no decision", "try again")
    denied = [one for one in known if not one.allowed]
    unsure = [one for one in denied if one.missing_context]
    sure = [one for one in denied if not one.missing_context]
    if sure:
        return failed(f"{who} may not {listed(dict.fromkeys(map(_told, sure)))}", fix)
    if unsure:
        keys = listed(sorted({key for one in unsure for key in one.missing_context}))
        return unknown(
            f"{who}: {listed(map(_told, unsure))} depends on {keys}", "check the policy's conditions"
        )
    return passed(f"{who}: {len(known)} actions allowed")


def _told(decision: Decision) -> str:
    if decision.by_organization:
        return f"{decision.action} (a policy of the organization denies it)"
    if decision.by_boundary:
        return f"{decision.action} (the permissions boundary does not let it)"
    return f"{decision.action}"


def filled(need: Need, subject: Subject) -> Need:
    """The need with this account's values in its resource."""
    where = place(subject)
    resource = need.resource.format(
        partition=where.partition, region=where.region, account=where.account, cluster=subject.config.name
    )
    return Need(need.actions, resource, need.context)
