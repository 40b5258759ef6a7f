"""Whether the nodes' types can be had where the file wants them. Free capacity cannot be asked about."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from unbroken.aws.sagemaker import Reserved, TrainingPlan
from unbroken.catalog import instance_types
from unbroken.checks.account.base import deployed, zone_names
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, counted, failed, listed, passed, together, unknown
from unbroken.checks.subject import Subject
from unbroken.config import InstanceGroup, WorkerGroup

USABLE = ("Active", "Scheduled")
TARGET = "hyperpod-cluster"


def zone_of(group: InstanceGroup, subject: Subject) -> str | None:
    """The zone of a group's nodes; None for a subnet's id that there is none by."""
    network, wanted = subject.config.network, group.subnet
    if wanted is None:
        return network.availability_zone_id
    zones = {one.name: one.availability_zone_id for one in network.subnets}
    if wanted.startswith("subnet-"):
        account = subject.asked
        found = account.once(f"subnet {wanted}", lambda: account.aws.ec2.subnets([wanted]))
        zones |= {one.subnet_id: one.zone_id for one in found}
    return zones.get(wanted)


class ZoneAvailable(Check):
    """Some zones are closed to new customers, others constrained."""

    id = "zone-available"
    area = Area.CAPACITY
    asks = "this account may use every zone of the file"
    faults = ("UP-008", "UP-012", "UP-063")
    calls = ("ec2:DescribeAvailabilityZones",)

    def run(self, subject: Subject) -> Outcome:
        """By the list EC2 gives this account."""
        network = subject.config.network
        wanted = {network.availability_zone_id, *(one.availability_zone_id for one in network.subnets)}
        known = zone_names(subject.asked)
        if not known:
            return unknown("EC2 named no zone", "try again")
        wrong = sorted(wanted - set(known))
        if wrong:
            return failed(f"not among its zones: {listed(wrong)}", f"use one of {listed(sorted(known), 9)}")
        return passed(", ".join(f"{zone} is {known[zone]} here" for zone in sorted(wanted)))


class TypeInRegion(Check):
    """HyperPod has fewer types than EC2, and not the same in every region."""

    id = "type-in-region"
    area = Area.FILE
    asks = "HyperPod offers every type in the file's region, by the list this version knows"
    faults = ("UP-008",)

    def run(self, subject: Subject) -> Outcome:
        """By the catalogue."""
        region = subject.config.region
        return together(self._judge(kind, region) for kind in _types(subject))

    def _judge(self, kind: str, region: str) -> Outcome:
        offered = instance_types.offered(kind, region)
        if offered is None:
            return unknown(f"{kind}: the list says nothing of {region}", "look it up in HyperPod's guide")
        if not offered:
            return failed(f"{kind}: not in {region}", "use another type or another region")
        return passed(f"{kind} in {region}")


def _types(subject: Subject) -> list[str]:
    return list(dict.fromkeys(group.instance_type for group in subject.config.groups()))


class TypeInZone(Check):
    """A type that a zone does not have is refused as lack of capacity, after a long wait."""

    id = "type-in-zone"
    area = Area.CAPACITY
    asks = "EC2, on which HyperPod runs, has every group's type in the group's zone"
    faults = ("UP-008",)
    calls = ("ec2:DescribeInstanceTypeOfferings", "ec2:DescribeSubnets")

    def run(self, subject: Subject) -> Outcome:
        """Every type with every zone it is wanted in."""
        pairs = dict.fromkeys(
            (group.instance_type, zone_of(group, subject)) for group in subject.config.groups()
        )
        return together(self._judge(kind, zone, subject) for kind, zone in pairs)

    def _judge(self, kind: str, zone: str | None, subject: Subject) -> Outcome:
        if zone is None:
            return unknown(f"{kind}: its subnet was not found", "see network-vpc")
        name = kind.removeprefix("ml.")
        account = subject.asked
        zones = account.once(f"zones with {name}", lambda: account.aws.ec2.zones_offering(name))
        if zone in zones:
            return passed(f"{kind} in {zone}")
        if zones:
            return failed(f"{kind}: in {listed(zones, 9)}, not in {zone}", f"move the group to {zones[0]}")
        return unknown(f"{kind}: EC2 names no zone of {account.region}", "ask AWS where the type can be had")


class TrainingPlans(Check):
    """Capacity that is paid for, in one zone, for a time."""

    id = "training-plan"
    area = Area.CAPACITY
    asks = "each training plan is for HyperPod, for the group's type and zone, large enough, and not over"
    faults = ("UP-008",)
    calls = (
        "sagemaker:DescribeTrainingPlan",
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeSubnets",
        "cloudformation:DescribeStacks",
    )

    def applies(self, subject: Subject) -> bool:
        """Only with a plan."""
        return any(group.training_plan for group in subject.config.worker_groups)

    def run(self, subject: Subject) -> Outcome:
        """Every plan, with all groups that draw on it together."""
        arns = dict.fromkeys(
            one.training_plan.arn for one in subject.config.worker_groups if one.training_plan
        )
        return together(self._judge(arn, subject) for arn in arns)

    def _judge(self, arn: str, subject: Subject) -> Outcome:
        name = arn.rpartition("/")[2]
        plan = subject.asked.aws.sagemaker.training_plan(name)
        if plan is None:
            return failed(
                f"there is no training plan {name}", "write the ARN that DescribeTrainingPlan gives"
            )
        groups = [
            one for one in subject.config.worker_groups if one.training_plan and one.training_plan.arn == arn
        ]
        wrong = [
            *_of_plan(plan, groups),
            *(words for one in groups for words in _of_group(plan, one, subject)),
        ]
        if wrong:
            return failed(f"{name}: {listed(wrong)}", "correct the group, or use another plan")
        nodes = sum(group.num_instances for group in groups)
        if plan.available < nodes and not deployed(subject, "cluster"):
            said = f"{name}: {plan.available} of {plan.total} instances are available, {nodes} wanted"
            return unknown(said, "see what uses the others; a plan that has not begun may show none")
        span = f"{_day(plan.start)} to {_day(plan.end)}"
        return passed(f"{name}: {plan.status}, {counted(plan.total, 'instance')}, {span}")


def _of_plan(plan: TrainingPlan, groups: list[WorkerGroup]) -> Iterator[str]:
    if plan.status not in USABLE:
        yield f"it is {plan.status}"
    if plan.end is not None and plan.end <= datetime.now(timezone.utc):
        yield f"it ended on {_day(plan.end)}"
    if TARGET not in plan.targets:
        yield f"it is for {listed(plan.targets) or 'nothing'}, not for {TARGET}"
    nodes = sum(group.num_instances for group in groups)
    if nodes > plan.total:
        yield f"it has {counted(plan.total, 'instance')}, and the groups want {nodes}"


def _of_group(plan: TrainingPlan, group: WorkerGroup, subject: Subject) -> Iterator[str]:
    same = [one for one in plan.reserved if one.instance_type == group.instance_type]
    if not same:
        yield f"it holds {listed(one.instance_type for one in plan.reserved)}, not {group.instance_type}"
        return
    zone = zone_of(group, subject)
    zones = {_zone_id(one, subject) for one in same}
    if zone is not None and zone not in zones:
        yield f"its {group.instance_type} is in {listed(sorted(zones))}, and group {group.name} in {zone}"


def _zone_id(reserved: Reserved, subject: Subject) -> str:
    """By the zone's name where the plan tells no id."""
    if reserved.zone_id:
        return reserved.zone_id
    ids = {name: zone for zone, name in zone_names(subject.asked).items()}
    return ids.get(reserved.zone_name, reserved.zone_name)


def _day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M %Z}".strip() if time else "an unknown day"
