"""Prices, each with its date and source; an unknown price is absent, never zero.

A price's key says what is bought, in words that hold in every region: ``node:ml.p5.48xlarge``,
``lustre:PERSISTENT_2:SSD:250``. HyperPod's nodes have prices of their own (usage type ``Cluster:ml...``),
above those of the same machines in EC2; no EC2 price is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from unbroken.catalog.documents import document
from unbroken.catalog.regions import partition

STALE_DAYS = 180
HOURS_A_MONTH = 730
"""As in AWS's own calculator."""
FULLEST_REGION = "us-east-1"
"""The region whose shipped list is the fullest: the first to stand in for another."""


@dataclass(frozen=True)
class Price:
    """What one unit costs, US dollars on demand, before tax."""

    key: str
    usd: float
    region: str
    day: date
    """When it was asked."""
    source: str

    def stale(self, today: date) -> bool:
        """Whether it is older than STALE_DAYS."""
        return (today - self.day).days > STALE_DAYS


class PriceList:
    """Prices by key and region; of two for the same, the newer counts."""

    def __init__(self, prices: Iterable[Price] = ()) -> None:
        self._prices: dict[tuple[str, str], Price] = {}
        for price in sorted(prices, key=lambda each: each.day):
            self._prices[price.key, price.region] = price

    def __iter__(self) -> Iterator[Price]:
        return iter(self._prices.values())

    def find(self, key: str, region: str) -> Price | None:
        """The price in a region; else another region's of the same partition, as its ``region`` then says."""
        here = self._prices.get((key, region))
        if here is not None:
            return here
        others = [
            price
            for price in self._prices.values()
            if price.key == key and partition(price.region) == partition(region)
        ]
        return min(others, key=lambda each: (each.region != FULLEST_REGION, each.region), default=None)

    def with_newer(self, prices: Iterable[Price]) -> PriceList:
        """This list and further prices."""
        return PriceList([*self._prices.values(), *prices])


@cache
def shipped() -> PriceList:
    """The prices that come with the project (``data/prices.json``)."""
    return PriceList(price for part in document("prices")["lists"] for price in _listed(part))


def _listed(part: Mapping[str, Any]) -> Iterator[Price]:
    day = date.fromisoformat(part["day"])
    for key, usd in part["prices"].items():
        yield Price(key, float(usd), part["region"], day, part["source"])


def unit(key: str) -> str:
    """What one of a key is: what is bought, for an hour or a month."""
    return _UNITS[key.partition(":")[0]]


def monthly(key: str) -> bool:
    """Whether the price is for a month; otherwise it is for an hour."""
    return unit(key).endswith("month")


_UNITS = {
    "node": "node and hour",
    "spot": "node and hour",
    "node-volume": "GB and month",
    "lustre": "GB and month",
    "lustre-throughput": "MB/s and month",
    "lustre-cache": "GB and month",
    "lustre-metadata": "operation/s and month",
    "openzfs-storage": "GB and month",
    "openzfs-throughput": "MB/s and month",
    "nat-gateway": "hour",
    "public-ipv4": "hour",
    "interface-endpoint": "hour",
    "kms-key": "key and month",
}
