"""Filters of EC2's Describe actions, of which ministack ignores those it does not know.

A filter that is ignored answers with everything; here a filter works or is refused. Names and meanings are
those of the EC2 API reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import ministack.services.ec2 as ec2

from unbroken.rehearsal.aws.ec2 import endpoints
from unbroken.rehearsal.aws.ec2.wording import Params, Response, error

Record = Mapping[str, Any]
Values = Callable[[Record], Iterable[str]]


@dataclass(frozen=True)
class Kind:
    """How records of one kind are listed and told apart."""

    store: str
    identity: str
    parameter: str
    """The request's member that names records by id, without its number."""
    fields: Callable[[Any], str]
    answer: str
    filters: dict[str, Values]


def _of(*names: str) -> Values:
    """The record's value under a name, or under that name in each item of a list."""

    def values(record: Record) -> Iterable[str]:
        held: list[Any] = [record]
        for name in names:
            found = (item.get(name) for item in held)
            held = [each for one in found for each in (one if isinstance(one, list) else [one])]
        return [str(one) for one in held if one is not None]

    return values


_PLACE = {"vpc-id": _of("VpcId")}
KINDS = {
    "DescribeSubnets": Kind(
        "_subnets", "SubnetId", "SubnetId", ec2._subnet_xml, "subnetSet",
        _PLACE | {
            "subnet-id": _of("SubnetId"), "availability-zone": _of("AvailabilityZone"),
            "availability-zone-id": _of("AvailabilityZoneId"), "cidr-block": _of("CidrBlock"),
        },
    ),
    "DescribeSecurityGroups": Kind(
        "_security_groups", "GroupId", "GroupId", ec2._sg_xml, "securityGroupInfo",
        _PLACE | {"group-id": _of("GroupId"), "group-name": _of("GroupName")},
    ),
    "DescribeNetworkInterfaces": Kind(
        "_network_interfaces", "NetworkInterfaceId", "NetworkInterfaceId", ec2._eni_fields_xml,
        "networkInterfaceSet",
        _PLACE | {
            "network-interface-id": _of("NetworkInterfaceId"), "subnet-id": _of("SubnetId"),
            "group-id": _of("Groups", "GroupId"), "description": _of("Description"),
            "interface-type": _of("InterfaceType"), "status": _of("Status"),
            "private-ip-address": _of("PrivateIpAddress"),
        },
    ),
    "DescribeVpcEndpoints": Kind(
        "_vpc_endpoints", "VpcEndpointId", "VpcEndpointId", endpoints.fields, "vpcEndpointSet",
        _PLACE | {
            "vpc-endpoint-id": _of("VpcEndpointId"), "service-name": _of("ServiceName"),
            "vpc-endpoint-type": _of("VpcEndpointType"), "vpc-endpoint-state": _of("State"),
        },
    ),
}  # fmt: skip
"""Listed here in place of ministack."""

KNOWN = {
    "DescribeAddresses": (),
    "DescribeAvailabilityZones": (),
    "DescribeFlowLogs": ("resource-id",),
    "DescribeInternetGateways": ("attachment.vpc-id", "internet-gateway-id"),
    "DescribeNatGateways": ("state", "subnet-id", "vpc-id"),
    "DescribeNetworkAcls": ("default", "vpc-id"),
    "DescribeRouteTables": ("association.main", "association.subnet-id", "vpc-id"),
    "DescribeVpcs": ("cidr", "is-default", "state", "vpc-id"),
}
"""The filters that ministack applies itself, where it lists; tags it applies everywhere else."""
NO_TAGS = ("DescribeAddresses", "DescribeAvailabilityZones")


def install() -> None:
    """Put the filters in front of ministack's actions."""
    for action, kind in KINDS.items():
        ec2._ACTION_MAP[action] = _listing(action, kind, ec2._ACTION_MAP[action])
    for action in KNOWN:
        ec2._ACTION_MAP[action] = _checking(action, ec2._ACTION_MAP[action])


def _is_tag(name: str) -> bool:
    return name.startswith("tag:") or name in ("tag-key", "tag-value")


def _unknown(name: str) -> Response:
    return error("InvalidParameterValue", f"The filter '{name}' is invalid, or not part of the embedded AWS")


def _checking(action: str, original: Callable[[Params], Response]) -> Callable[[Params], Response]:
    def checked(params: Params) -> Response:
        for name in ec2._parse_filters(params):
            tagged = _is_tag(name) and action not in NO_TAGS
            if not tagged and name not in KNOWN[action]:
                return _unknown(name)
        return original(params)

    return checked


def _listing(action: str, kind: Kind, original: Callable[[Params], Response]) -> Callable[[Params], Response]:
    def listed(params: Params) -> Response:
        records = getattr(ec2, kind.store)
        ids, wanted = ec2._parse_member_list(params, kind.parameter), ec2._parse_filters(params)
        if any(one not in records for one in ids) and action != "DescribeVpcEndpoints":
            return _missing(kind, next(one for one in ids if one not in records), original, params)
        unknown = [name for name in wanted if not _is_tag(name) and name not in kind.filters]
        if unknown:
            return _unknown(unknown[0])
        shown = [
            record for identity, record in records.items()
            if (not ids or identity in ids) and _matches(record, identity, kind, wanted)
        ]  # fmt: skip
        items = "".join(kind.fields(record) for record in shown)
        answer: Response = ec2._xml(200, f"{action}Response", f"<{kind.answer}>{items}</{kind.answer}>")
        return answer

    return listed


def _missing(kind: Kind, identity: str, original: Callable[[Params], Response], params: Params) -> Response:
    """ministack's own refusal of an id there is not; it has none for interfaces."""
    if kind.store == "_network_interfaces":
        text = f"The networkInterface ID '{identity}' does not exist"
        return error("InvalidNetworkInterfaceID.NotFound", text)
    return original(params)


def _matches(record: Record, identity: str, kind: Kind, wanted: Mapping[str, list[str]]) -> bool:
    if not ec2._resource_matches_tag_filters(identity, wanted):
        return False
    return all(
        any(fnmatchcase(value, pattern) for value in kind.filters[name](record) for pattern in patterns)
        for name, patterns in wanted.items()
        if not _is_tag(name)
    )
