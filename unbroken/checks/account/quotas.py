"""Quotas of nodes, summed over all groups of the file and all other clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, passed, together, unknown
from unbroken.checks.subject import Account, Subject
from unbroken.config import InstanceGroup

PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
IN_ALL = "Total number of instances allowed across SageMaker HyperPod clusters"
VOLUME = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"
_LIST = ("servicequotas:ListServiceQuotas", "servicequotas:ListAWSDefaultServiceQuotas")
_NODES = ("sagemaker:ListClusters", "sagemaker:DescribeCluster")


def compared(quota: str, needed: float, in_use: float, allowed: float | None) -> Outcome:
    """What is needed, with what is in use, against what is allowed; None is unknown, not zero."""
    use = f" beside {in_use:,.0f} in use" if in_use else ""
    fix = f"ask for {needed + in_use:,.0f} under Service Quotas: {quota!r}"
    if allowed is None:
        return unknown(f"{quota}: no value was found; {needed:,.0f} needed{use}", fix)
    found = f"{quota}: {needed:,.0f} needed{use}, {allowed:,.0f} allowed"
    return passed(found) if needed + in_use <= allowed else failed(found, fix)


def of_sagemaker(account: Account, name: str) -> float | None:
    """A quota by its name: the applied value, else AWS's default, else None, which is unknown and not zero.

    The lists are long, so the second is asked for only where the first lacks something.
    """
    quotas = account.aws.quotas
    applied = account.once("quotas applied", lambda: quotas.applied("sagemaker"))
    if name in applied:
        return applied[name]
    return account.once("quota defaults", lambda: quotas.defaults("sagemaker")).get(name)


def other_nodes(subject: Subject) -> Mapping[str, int]:
    """Nodes by type of all clusters but the file's own, which a deployment would change, not add to.

    The larger of what is there and what is asked for: nodes on their way count too.
    """
    account = subject.asked

    def count() -> Counter[str]:
        found: Counter[str] = Counter()
        for name in account.aws.sagemaker.clusters():
            cluster = account.aws.sagemaker.cluster(name) if name != subject.config.name else None
            for group in cluster.groups if cluster else ():
                found[group.instance_type] += max(group.current, group.target)
        return found

    return account.once("nodes of other clusters", count)


def _is_spot(group: InstanceGroup) -> bool:
    return getattr(group, "capacity", "on-demand") == "spot"


def _is_planned(group: InstanceGroup) -> bool:
    return getattr(group, "training_plan", None) is not None


def _by_type(groups: list[InstanceGroup]) -> Counter[str]:
    found: Counter[str] = Counter()
    for group in groups:
        found[group.instance_type] += group.num_instances
    return found


class QuotaInstances(Check):
    """New accounts have 0 of nearly every type; it is the commonest failure at create time."""

    id = "quota-instances"
    area = Area.QUOTAS
    asks = "for each type, '<type> for cluster usage' covers all groups together and all other clusters"
    faults = ("UP-009",)
    calls = (*_LIST, *_NODES)

    def run(self, subject: Subject) -> Outcome:
        """Every type of the file; on-demand and planned nodes."""
        bought = [group for group in subject.config.groups() if not _is_spot(group)]
        sure = _by_type([group for group in bought if not _is_planned(group)])
        used = other_nodes(subject)
        return together(
            self._judge(kind, sure[kind], number, used.get(kind, 0), subject.asked)
            for kind, number in _by_type(bought).items()
        )

    def _judge(self, kind: str, sure: int, number: int, used: int, account: Account) -> Outcome:
        quota = f"{kind} for cluster usage"
        allowed = of_sagemaker(account, quota)
        answer, without_plan = (compared(quota, needed, used, allowed) for needed in (number, sure))
        if answer.verdict is without_plan.verdict:
            return answer
        said = f"{answer.found}; AWS does not say whether the nodes of a training plan count"
        return unknown(said, answer.fix)


class QuotaSpotInstances(Check):
    """Spot has quotas of its own."""

    id = "quota-spot-instances"
    area = Area.QUOTAS
    asks = "for each type bought as spot, '<type> for cluster spot instance usage' covers all groups together"
    faults = ("UP-009",)
    calls = _LIST

    def applies(self, subject: Subject) -> bool:
        """Only with spot groups."""
        return any(map(_is_spot, subject.config.groups()))

    def run(self, subject: Subject) -> Outcome:
        """Every type. What other clusters use of it cannot be told from their on-demand nodes."""
        wanted = _by_type([group for group in subject.config.groups() if _is_spot(group)])
        return together(self._judge(kind, number, subject.asked) for kind, number in wanted.items())

    def _judge(self, kind: str, number: int, account: Account) -> Outcome:
        quota = f"{kind} for cluster spot instance usage"
        return compared(quota, number, 0, of_sagemaker(account, quota))


class QuotaInstancesPerCluster(Check):
    """20 unless raised (seen in July 2026)."""

    id = "quota-instances-per-cluster"
    area = Area.QUOTAS
    asks = "the number of nodes is within what one cluster may have"
    faults = ("UP-009",)
    calls = _LIST

    def run(self, subject: Subject) -> Outcome:
        """All groups together."""
        nodes = sum(_by_type(subject.config.groups()).values())
        return compared(PER_CLUSTER, nodes, 0, of_sagemaker(subject.asked, PER_CLUSTER))


class QuotaInstancesTotal(Check):
    """Over all clusters of the region."""

    id = "quota-instances-total"
    area = Area.QUOTAS
    asks = "the number of nodes is within what all clusters together may have"
    faults = ("UP-009",)
    calls = (*_LIST, *_NODES)

    def run(self, subject: Subject) -> Outcome:
        """All groups, beside all other clusters."""
        nodes = sum(_by_type(subject.config.groups()).values())
        used = sum(other_nodes(subject).values())
        return compared(IN_ALL, nodes, used, of_sagemaker(subject.asked, IN_ALL))


class QuotaVolumeSize(Check):
    """Counted per volume."""

    id = "quota-volume-size"
    area = Area.QUOTAS
    asks = "the largest volume of a node is within what HyperPod allows"
    faults = ("UP-009",)
    calls = _LIST

    def applies(self, subject: Subject) -> bool:
        """Only with a volume in the file."""
        return _largest_volume(subject) > 0

    def run(self, subject: Subject) -> Outcome:
        """The largest of all groups."""
        return compared(VOLUME, _largest_volume(subject), 0, of_sagemaker(subject.asked, VOLUME))


def _largest_volume(subject: Subject) -> int:
    return max(group.ebs_gib or 0 for group in subject.config.groups())
