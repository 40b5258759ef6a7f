"""What checks of the account share: which stacks are there already, and which zone a group is in."""

from __future__ import annotations

from unbroken.aws.cloudformation import Stack
from unbroken.checks.subject import Account, Subject


def stack(subject: Subject, area: str) -> Stack | None:
    """The stack of that area, or None where there is none yet."""
    account = subject.asked
    name = f"{subject.config.name}-{area}"
    return account.once(f"stack {name}", lambda: account.aws.cloudformation.stack(name))


def deployed(subject: Subject, area: str) -> bool:
    """Whether a stack of that area holds resources: then they are counted among what is in use."""
    found = stack(subject, area)
    return found is not None and not found.empty


def zone_names(account: Account) -> dict[str, str]:
    """This account's zones: name by id. Names differ from account to account, ids do not."""
    zones = account.once("zones", account.aws.ec2.zones)
    return {zone.zone_id: zone.name for zone in zones}
