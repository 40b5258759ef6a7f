"""What costs on after ``unbroken down``, by CloudFormation's name of its type."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from unbroken.config import ClusterConfig
from unbroken.ops.cost import kept_prices
from unbroken.ops.cost.estimate import Estimate, Line, Total, estimate, total
from unbroken.ops.cost.model import Until

Cost = tuple[str, float | None]
"""In words, and US dollars a month: 0 for nothing, None where it is unknown or goes by use."""

_BY_USE = {
    "AWS::APS::Workspace": "by the samples kept",
    "AWS::Grafana::Workspace": "by the people who log in",
    "AWS::Logs::LogGroup": "by the GB kept",
    "AWS::S3::Bucket": "by the GB stored",
}
_FREE = ("AWS::EC2::SecurityGroup", "AWS::EC2::Subnet", "AWS::EC2::VPC")
_PARTS = {"AWS::FSx::FileSystem": ("lustre", "openzfs"), "AWS::KMS::Key": ("kms-key",)}
"""What the price list calls the parts of a type."""


def staying(config: ClusterConfig, env: Mapping[str, str], today: date) -> dict[str, Cost]:
    """The cost of each type that can outlive a cluster. Raises CannotRun for damaged kept prices."""
    found = estimate(config, kept_prices.known(env), today)
    costs: dict[str, Cost] = {kind: (words, None) for kind, words in _BY_USE.items()}
    costs |= {kind: ("nothing", 0.0) for kind in _FREE}
    return costs | {kind: _cost(total(_kept(found, keys))) for kind, keys in _PARTS.items()}


def _kept(found: Estimate, keys: tuple[str, ...]) -> list[Line]:
    lines = [line for line in found.lines if line.item.until is Until.REMOVED]
    return [line for line in lines if line.item.key.startswith(keys)]


def _cost(sum_: Total) -> Cost:
    if sum_.unknown:
        return "unknown", None
    month = sum_.usd_per_month
    words = " ".join([*sum_.words.split(), f"${month:,.2f} a month"])
    return words, None if sum_.at_least else month
