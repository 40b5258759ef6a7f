"""Cluster files and price lists of round numbers, for sums that can be done by hand."""

from __future__ import annotations

from datetime import date
from typing import Any

from unbroken.catalog.prices import Price, PriceList
from unbroken.config import ClusterConfig

TODAY = date(2026, 11, 30)
REGION = "us-west-2"


def cluster(**changes: Any) -> ClusterConfig:
    """One m5.12xlarge controller with a 500 GiB volume, two p5, 2400 GiB of Lustre, a NAT gateway."""
    plain = {
        "name": "c",
        "region": REGION,
        "worker_groups": [{"name": "w", "instance_type": "ml.p5.48xlarge", "num_instances": 2}],
        "storage": {"capacity_gib": 2400},
    }
    return ClusterConfig.model_validate(plain | changes)


ROUND = {
    "node:ml.m5.12xlarge": 3.0,
    "node:ml.p5.48xlarge": 60.0,
    "node-volume": 0.146,
    "lustre:PERSISTENT_2:SSD:250": 0.73,
    "nat-gateway": 0.05,
    "public-ipv4": 0.005,
}


def prices(day: date = date(2026, 11, 1), region: str = REGION, **without: bool) -> PriceList:
    """The round prices, all of one day and region."""
    return PriceList(Price(key, usd, region, day, "a test") for key, usd in ROUND.items())


def but(key: str, *more: Price) -> PriceList:
    """The round prices without one, and further ones."""
    return PriceList([*(each for each in prices() if each.key != key), *more])
