"""The sums, by hand; and that what is unknown, old or another region's shows in them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.unit.ops.cost.bench import REGION, ROUND, TODAY, but, cluster, prices
from unbroken.catalog.prices import STALE_DAYS, Price, PriceList
from unbroken.ops.cost.estimate import Estimate, Standing, Total, estimate


def found(price_list: PriceList, **changes: object) -> Estimate:
    return estimate(cluster(**changes), price_list, TODAY)


def standing(where: Estimate, key: str) -> Standing:
    (line,) = [line for line in where.lines if line.item.key == key]
    return line.standing


def test_the_sums_by_hand() -> None:
    """An hour: nodes 3 + 2*60; volume 500*0.146/730 = 0.1; Lustre 2400*0.73/730 = 2.4; NAT 0.05 + 0.005."""
    total = found(prices())
    assert total.up.usd_per_hour == pytest.approx(3 + 120 + 0.1 + 2.4 + 0.055)
    assert total.up.usd_per_day == pytest.approx(24 * 125.555)
    assert total.up.usd_per_month == pytest.approx(730 * 125.555)
    assert total.without_cluster.usd_per_hour == pytest.approx(2.4 + 0.055)
    assert total.after_down.usd_per_hour == pytest.approx(2.4)
    assert (total.up.words, total.after_down.words) == ("", "")


def test_nothing_is_kept_where_nothing_is_to_be() -> None:
    after = found(prices(), storage={"capacity_gib": 2400, "deletion": "delete"}).after_down
    assert after == Total(0.0, at_least=False, about=False, unknown=False, prepaid=False)


def test_an_unknown_price_makes_the_sum_a_least() -> None:
    without = found(but("node-volume"))
    assert standing(without, "node-volume") is Standing.UNKNOWN
    assert without.up.usd_per_hour == pytest.approx(125.455)
    assert (without.up.words, without.without_cluster.words) == ("at least", "")


def test_a_sum_of_nothing_but_unknowns_is_unknown() -> None:
    after = found(but("lustre:PERSISTENT_2:SSD:250")).after_down
    assert after.unknown and after.at_least


def test_an_unknown_count_is_unknown_though_its_price_is_known() -> None:
    price = Price("lustre-metadata", 0.05, REGION, TODAY, "a test")
    storage = {"capacity_gib": 2400, "metadata": {"mode": "USER_PROVISIONED", "iops": 12000}}
    where = found(prices().with_newer([price]), storage=storage)
    assert standing(where, "lustre-metadata") is Standing.UNKNOWN
    assert where.after_down.words == "at least"


def test_another_regions_price_makes_the_sum_about() -> None:
    where = found(but("nat-gateway", Price("nat-gateway", 0.06, "us-east-1", TODAY, "a test")))
    assert standing(where, "nat-gateway") is Standing.ELSEWHERE
    assert (where.up.words, where.after_down.words) == ("about", "")


@pytest.mark.parametrize(("age", "word"), [(STALE_DAYS, ""), (STALE_DAYS + 1, "about")])
def test_an_old_price_counts_and_says_so(age: int, word: str) -> None:
    where = found(prices(TODAY - timedelta(days=age)))
    assert where.up.words == word
    assert where.up.usd_per_hour == pytest.approx(125.555)


def test_unknown_and_about_together() -> None:
    where = found(
        but("node-volume", Price("kms-key", 1, "us-east-1", TODAY, "a test")),
        encryption={"kms_key": "create"},
    )
    assert where.up.words == "at least about"


def test_prepaid_nodes_are_in_no_sum() -> None:
    plan = {
        "arn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
        "availability_zone_id": "usw2-az4",
    }
    group = {"name": "w", "instance_type": "ml.p5.48xlarge", "num_instances": 2, "training_plan": plan}
    where = found(prices(), worker_groups=[group])
    assert where.up.usd_per_hour == pytest.approx(5.555)
    assert where.up.prepaid and where.up.words == ""


def test_every_key_of_the_round_list_is_used() -> None:
    assert {line.item.key for line in found(prices(date(2026, 11, 29))).lines} == set(ROUND)
