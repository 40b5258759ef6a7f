"""The price list: which price is found, and that an unknown one is none."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from unbroken.catalog import instance_types, regions
from unbroken.catalog.documents import document
from unbroken.catalog.prices import STALE_DAYS, Price, PriceList, monthly, shipped, unit

DAY = date(2026, 9, 1)


def price(key: str, region: str, usd: float = 1.0, day: date = DAY) -> Price:
    return Price(key, usd, region, day, "a test")


def test_a_regions_own_price_goes_first() -> None:
    here, east = price("nat-gateway", "eu-north-1", 2.0), price("nat-gateway", "us-east-1", 1.0)
    assert PriceList([here, east]).find("nat-gateway", "eu-north-1") == here


def test_another_region_stands_in_and_says_so() -> None:
    west, east = price("nat-gateway", "us-west-2"), price("nat-gateway", "us-east-1")
    assert PriceList([west, east]).find("nat-gateway", "eu-north-1") == east
    assert PriceList([west]).find("nat-gateway", "eu-north-1") == west


def test_other_partitions_do_not_stand_in() -> None:
    assert PriceList([price("nat-gateway", "us-east-1")]).find("nat-gateway", "us-gov-west-1") is None


def test_an_unknown_price_is_none() -> None:
    assert PriceList().find("nat-gateway", "us-west-2") is None
    assert shipped().find("node:ml.none.large", "us-west-2") is None


@pytest.mark.parametrize("newest_first", [True, False])
def test_of_two_prices_the_newer_counts(newest_first: bool) -> None:
    old, new = (
        price("kms-key", "us-west-2", 1.0),
        price("kms-key", "us-west-2", 2.0, DAY + timedelta(days=1)),
    )
    both = [new, old] if newest_first else [old, new]
    assert PriceList(both).find("kms-key", "us-west-2") == new
    assert PriceList([both[0]]).with_newer([both[1]]).find("kms-key", "us-west-2") == new


def test_a_price_gets_old() -> None:
    one = price("kms-key", "us-west-2")
    assert not one.stale(DAY + timedelta(days=STALE_DAYS))
    assert one.stale(DAY + timedelta(days=STALE_DAYS + 1))


def test_units() -> None:
    assert (unit("node:ml.p5.48xlarge"), monthly("node:ml.p5.48xlarge")) == ("node and hour", False)
    assert (unit("lustre:SCRATCH_2:SSD"), monthly("lustre:SCRATCH_2:SSD")) == ("GB and month", True)
    with pytest.raises(KeyError):
        unit("tea")


def test_every_shipped_price_is_of_something_and_sourced() -> None:
    for each in shipped():
        assert each.usd > 0 and unit(each.key) and len(each.source) > 20
        assert each.region in regions.REGIONS
        assert date(2026, 1, 1) < each.day < date(2100, 1, 1)
        if each.key.startswith("node:"):
            assert each.key.removeprefix("node:") in instance_types.names()


def test_hyperpods_price_of_a_p5_is_its_own() -> None:
    """EC2 asked 55.04 for it on 2026-07-20, HyperPod 66.048 on 2026-09-16."""
    found = shipped().find("node:ml.p5.48xlarge", "us-east-1")
    assert found is not None and (found.usd, found.day) == (66.048, date(2026, 9, 16))
    assert "Cluster:" in found.source


def test_nothing_was_added_without_a_day() -> None:
    assert all({"region", "day", "source", "prices"} == set(part) for part in document("prices")["lists"])
