"""Address ranges of VPCs and subnets: further ranges of a VPC, and subnets that must lie in one and apart.

Source: EC2 API reference, AssociateVpcCidrBlock and CreateSubnet with their error codes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from typing import Any

import ministack.services.ec2 as ec2

from unbroken.rehearsal.aws.ec2.wording import Params, Response, error

FURTHER = "FurtherRanges"
"""Under this name a VPC's record holds its further ranges, by the id of their association."""


def ranges(vpc: dict[str, Any]) -> list[str]:
    """All ranges of a VPC."""
    return [vpc["CidrBlock"], *vpc.get(FURTHER, {}).values()]


def associate(params: Params) -> Response:
    """AssociateVpcCidrBlock, for IPv4."""
    vpc = ec2._vpcs.get(ec2._p(params, "VpcId"))
    if vpc is None:
        return error("InvalidVpcID.NotFound", f"The vpc ID '{ec2._p(params, 'VpcId')}' does not exist")
    cidr = ec2._p(params, "CidrBlock")
    if any(IPv4Network(cidr).overlaps(IPv4Network(other)) for other in ranges(vpc)):
        return error("InvalidVpc.Range", f"The CIDR '{cidr}' conflicts with another range of the VPC.")
    association = f"vpc-cidr-assoc-{uuid.uuid4().hex[:17]}"
    vpc.setdefault(FURTHER, {})[association] = cidr
    body = f"<vpcId>{vpc['VpcId']}</vpcId>{_association(association, cidr, 'cidrBlockAssociation')}"
    response: Response = ec2._xml(200, "AssociateVpcCidrBlockResponse", body)
    return response


def disassociate(params: Params) -> Response:
    """DisassociateVpcCidrBlock."""
    association = ec2._p(params, "AssociationId")
    for vpc in ec2._vpcs.values():
        cidr = vpc.get(FURTHER, {}).get(association)
        if cidr is None:
            continue
        if any(IPv4Network(one).subnet_of(IPv4Network(cidr)) for one in _subnets_of(vpc["VpcId"])):
            text = f"The vpc '{vpc['VpcId']}' has subnets in the range {cidr} and it cannot be disassociated."
            return error("OperationNotPermitted", text)
        del vpc[FURTHER][association]
        body = _association(association, cidr, "cidrBlockAssociation")
        response: Response = ec2._xml(200, "DisassociateVpcCidrBlockResponse", body)
        return response
    text = f"The CIDR association ID '{association}' does not exist"
    return error("InvalidVpcCidrBlockAssociationID.NotFound", text)


def subnet_problem(vpc_id: str, cidr: str) -> str:
    """Why a VPC cannot have a subnet of this range; empty where it can."""
    vpc = ec2._vpcs.get(vpc_id)
    if vpc is None:
        return f"The vpc ID '{vpc_id}' does not exist (InvalidVpcID.NotFound)"
    if not any(IPv4Network(cidr).subnet_of(IPv4Network(one)) for one in ranges(vpc)):
        return f"The CIDR '{cidr}' is invalid: it is not in the VPC's ranges (InvalidSubnet.Range)"
    for other in _subnets_of(vpc_id):
        if IPv4Network(cidr).overlaps(IPv4Network(other)):
            return f"The CIDR '{cidr}' conflicts with another subnet (InvalidSubnet.Conflict)"
    return ""


def vpc_fields(original: Callable[..., str]) -> Callable[..., str]:
    """ministack's XML of a VPC, with the further ranges."""

    def fields(vpc: dict[str, Any], tag: str = "item") -> str:
        more = "".join(_association(key, cidr, "item") for key, cidr in vpc.get(FURTHER, {}).items())
        return original(vpc, tag=tag).replace(
            "</cidrBlockAssociationSet>", f"{more}</cidrBlockAssociationSet>"
        )

    return fields


def _subnets_of(vpc_id: str) -> Iterator[str]:
    return (one["CidrBlock"] for one in ec2._subnets.values() if one["VpcId"] == vpc_id)


def _association(association: str, cidr: str, tag: str) -> str:
    state = "<cidrBlockState><state>associated</state></cidrBlockState>"
    return f"<{tag}><cidrBlock>{cidr}</cidrBlock><associationId>{association}</associationId>{state}</{tag}>"


ACTIONS: dict[str, Callable[[Params], Response]] = {
    "AssociateVpcCidrBlock": associate,
    "DisassociateVpcCidrBlock": disassociate,
}
