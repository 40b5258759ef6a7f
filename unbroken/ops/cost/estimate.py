"""A cluster's items with their prices, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import Enum

from unbroken.catalog.prices import HOURS_A_MONTH, Price, PriceList, monthly
from unbroken.config import ClusterConfig
from unbroken.ops.cost import parts
from unbroken.ops.cost.model import ByUse, Item, Until


class Standing(Enum):
    """How far a line's figure can be trusted."""

    LISTED = "listed"
    ELSEWHERE = "another region's price"
    STALE = "stale"
    UNKNOWN = "unknown"
    PREPAID = "prepaid"


@dataclass(frozen=True)
class Line:
    """An item and what it costs."""

    item: Item
    price: Price | None
    standing: Standing
    usd_per_hour: float | None
    """None where unknown or prepaid."""


@dataclass(frozen=True)
class Total:
    """A sum of what is known of the lines."""

    usd_per_hour: float
    at_least: bool
    """A line of it has no known price."""
    about: bool
    """A line of it has a stale price, or another region's."""
    unknown: bool
    """There are lines, and none has a known price."""
    prepaid: bool
    """A line of it is paid otherwise, and not in the sum."""

    @property
    def usd_per_day(self) -> float:
        """A day's."""
        return self.usd_per_hour * 24

    @property
    def usd_per_month(self) -> float:
        """A month's, of 730 hours."""
        return self.usd_per_hour * HOURS_A_MONTH

    @property
    def words(self) -> str:
        """What goes before the figure: nothing, ``about``, ``at least`` or ``at least about``."""
        return " ".join(["at least"] * self.at_least + ["about"] * self.about)


@dataclass(frozen=True)
class Estimate:
    """What a cluster costs while it exists."""

    region: str
    lines: list[Line]
    by_use: list[ByUse]

    @property
    def up(self) -> Total:
        """While the cluster is there, whether a job runs or not."""
        return total(self.lines)

    @property
    def without_cluster(self) -> Total:
        """After the cluster is deleted and the other stacks are not."""
        return total(line for line in self.lines if line.item.until is not Until.CLUSTER)

    @property
    def after_down(self) -> Total:
        """After ``unbroken down``: what the cluster file keeps."""
        return total(line for line in self.lines if line.item.until is Until.REMOVED)


def estimate(config: ClusterConfig, prices: PriceList, today: date) -> Estimate:
    """The estimate for a cluster file."""
    lines = [_line(item, prices, config.region, today) for item in parts.items(config)]
    return Estimate(config.region, lines, parts.by_use(config))


def total(lines: Iterable[Line]) -> Total:
    """The sum of some lines; what is prepaid is none of it."""
    lines = list(lines)
    standings = {line.standing for line in lines}
    return Total(
        sum(line.usd_per_hour or 0.0 for line in lines),
        at_least=Standing.UNKNOWN in standings,
        about=bool(standings & {Standing.STALE, Standing.ELSEWHERE}),
        unknown=standings == {Standing.UNKNOWN},
        prepaid=Standing.PREPAID in standings,
    )


def _line(item: Item, prices: PriceList, region: str, today: date) -> Line:
    price = None if item.prepaid else prices.find(item.key, region)
    if item.prepaid:
        return Line(item, None, Standing.PREPAID, None)
    if price is None or item.count is None:
        return Line(item, price, Standing.UNKNOWN, None)
    usd = item.count * price.usd / (HOURS_A_MONTH if monthly(item.key) else 1)
    return Line(item, price, _standing(price, region, today), usd)


def _standing(price: Price, region: str, today: date) -> Standing:
    if price.stale(today):
        return Standing.STALE
    return Standing.LISTED if price.region == region else Standing.ELSEWHERE
