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
