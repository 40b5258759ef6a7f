"""Today's prices from the AWS Price List, for what a cluster needs.

What the list calls things was taken from recorded answers and bills in public repositories; this project has
not asked it yet. A name that is not found, or found with several prices, gives no price.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from unbroken.aws import AwsError, connect
from unbroken.aws.pricing import HOME, ListedPrice, Pricing
from unbroken.catalog.fsx import lustre
from unbroken.catalog.prices import Price
from unbroken.config import ClusterConfig
from unbroken.ops.cost import kept_prices, parts
from unbroken.ops.errors import CannotRun

_PREFIX = r"(?:[A-Z]{2,4}\d{0,2}-|[a-z]{2}(?:-[a-z]+)+-\d-)?"
"""A region in front of a usage type: ``USW2-``, ``EU-``, ``us-west-2-``, or nothing for us-east-1."""


@dataclass(frozen=True)
class Question:
    """How a key is called in the Price List."""

    service: str
    contains: str
    """Part of the usage type that AWS is asked for."""
    usage: str
    """The whole usage type without its region, as a regular expression."""
    operation: str = ""
    """Told apart by it, where several services share a usage type."""

    def matches(self, price: ListedPrice) -> bool:
        """Whether a price is the one asked for."""
        return bool(re.fullmatch(_PREFIX + self.usage, price.usage_type)) and (
            self.operation in ("", price.operation)
        )


@dataclass(frozen=True)
class Answers:
    """What the Price List said."""

    prices: list[Price]
    missing: dict[str, str]
    """Keys without a price, and why."""


def refresh(
    config: ClusterConfig, env: Mapping[str, str], today: date, pricing: Pricing | None = None
) -> tuple[Answers, Path]:
    """Ask for the prices of a cluster's parts and keep them. Raises CannotRun where AWS cannot be asked."""
    keys = [item.key for item in parts.items(config) if not item.prepaid]
    try:
        answers = ask(keys, config.region, pricing or connect(HOME).pricing, today)
    except AwsError as error:
        raise CannotRun(str(error), error.hint) from error
    return answers, kept_prices.keep(answers.prices, env)


def ask(keys: Iterable[str], region: str, pricing: Pricing, today: date) -> Answers:
    """The prices of some keys in a region. Raises AwsError where AWS cannot be asked."""
    prices, missing = [], {}
    for key in dict.fromkeys(keys):
        question = _question(key)
        if question is None:
            missing[key] = "what the Price List calls it is not known"
            continue
        found = {each for each in _asked(question, region, pricing) if question.matches(each)}
        if len({each.usd for each in found}) == 1:
            prices.append(_price(key, found.pop(), region, question, today))
        else:
            missing[key] = f"the Price List has {len(found) or 'no'} prices for {question.usage}"
    return Answers(prices, missing)


def _asked(question: Question, region: str, pricing: Pricing) -> list[ListedPrice]:
    return pricing.on_demand(question.service, region, question.contains)


def _price(key: str, found: ListedPrice, region: str, question: Question, today: date) -> Price:
    source = f"AWS Price List, {question.service}, {found.usage_type}, published {found.published}"
    return Price(key, found.usd, region, today, source)


def _question(key: str) -> Question | None:
    kind, _, rest = key.partition(":")
    if kind == "node":
        return Question("AmazonSageMaker", f"Cluster:{rest}", re.escape(f"Cluster:{rest}"))
    return _QUESTIONS.get(key)


def _lustre() -> Iterator[tuple[str, Question]]:
    """SSD file systems by throughput; the two persistent types have no throughput in common."""
    operation = "CreateFileSystem:Lustre"
    yield "lustre:SCRATCH_2:SSD", Question("AmazonFSx", "Storage", "Storage", operation)
    for deployment in ("PERSISTENT_1", "PERSISTENT_2"):
        for each in lustre.throughputs(deployment, "SSD"):
            usage = f"Storage.SSD.{each}"
            yield (
                f"lustre:{deployment}:SSD:{each}",
                Question("AmazonFSx", usage, re.escape(usage), operation),
            )


_OPENZFS = "CreateFileSystem:OpenZFS"
_QUESTIONS = {
    "node-volume": Question("AmazonSageMaker", "Cluster:VolumeUsage", r"Cluster:VolumeUsage\.gp\d"),
    **dict(_lustre()),
    "openzfs-storage:SINGLE_AZ_2": Question("AmazonFSx", "Storage.SAZ2:SSD", r"Storage\.SAZ2:SSD", _OPENZFS),
    "openzfs-throughput:SINGLE_AZ_2": Question(
        "AmazonFSx", "ThroughputCapacity.SAZ2", r"ThroughputCapacity\.SAZ2", _OPENZFS
    ),
    "nat-gateway": Question("AmazonEC2", "NatGateway-Hours", "NatGateway-Hours"),
    "public-ipv4": Question("AmazonVPC", "PublicIPv4:InUseAddress", "PublicIPv4:InUseAddress"),
    "interface-endpoint": Question("AmazonVPC", "VpcEndpoint-Hours", "VpcEndpoint-Hours"),
    "kms-key": Question("awskms", "KMS-Keys", "KMS-Keys"),
}
