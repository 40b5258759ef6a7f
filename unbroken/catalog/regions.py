"""AWS regions: their partitions, the form of their Availability Zone ids, whether they have HyperPod.

Source: AWS General Reference, "AWS Regions"; zone ids: Amazon EC2 user guide, "AZ IDs"; partitions: the AWS
SDKs' partitions.json. Which instance types a region has is in ``instance_types``.
"""

from __future__ import annotations

import re

from unbroken.catalog.documents import document

REGIONS: tuple[str, ...] = (
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-west-1",
    "us-west-2",
)

_DIRECTION = {"northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw"}


def zone_id_prefix(region: str) -> str:
    """The part of a zone id that names its region: ``us-west-2`` gives ``usw2``, as in ``usw2-az4``."""
    area, *directions, number = re.split("-", region)
    return area + "".join(_DIRECTION.get(word, word[0]) for word in directions) + number


_PARTITIONS = {
    "us-gov-": "aws-us-gov",
    "cn-": "aws-cn",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "eu-isoe-": "aws-iso-e",
    "us-isof-": "aws-iso-f",
    "eusc-": "aws-eusc",
}


def partition(region: str) -> str:
    """The part of AWS a region belongs to, as in its ARNs: ``aws`` for most."""
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), "aws")


def with_hyperpod() -> frozenset[str]:
    """Regions whose CloudFormation has AWS::SageMaker::Cluster, according to cfn-lint."""
    return frozenset(document("accepted")["cluster_regions"])
