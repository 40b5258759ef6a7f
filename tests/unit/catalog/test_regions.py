"""Zone ids by region."""

from __future__ import annotations

import pytest

from unbroken.catalog import regions


@pytest.mark.parametrize(
    ("region", "prefix"),
    [
        ("us-west-2", "usw2"),
        ("eu-central-1", "euc1"),
        ("ap-northeast-1", "apne1"),
        ("ap-southeast-4", "apse4"),
        ("us-gov-west-1", "usgw1"),
        ("ca-central-1", "cac1"),
    ],
)
def test_zone_id_prefix(region: str, prefix: str) -> None:
    assert regions.zone_id_prefix(region) == prefix


def test_no_two_regions_share_a_prefix() -> None:
    prefixes = [regions.zone_id_prefix(region) for region in regions.REGIONS]
    assert len(set(prefixes)) == len(prefixes)


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("us-west-2", "aws"),
        ("us-gov-west-1", "aws-us-gov"),
        ("cn-north-1", "aws-cn"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("eusc-de-east-1", "aws-eusc"),
    ],
)
def test_partition(region: str, partition: str) -> None:
    assert regions.partition(region) == partition


def test_regions_with_hyperpod() -> None:
    assert "us-west-2" in regions.with_hyperpod()
    assert "us-gov-west-1" not in regions.with_hyperpod()
