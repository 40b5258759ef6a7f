"""The AWS Price List. Its API is in a few regions only and tells the prices of all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from unbroken.aws.session import Session

HOME = "us-east-1"
"""A region that has the API."""


@dataclass(frozen=True)
class ListedPrice:
    """The on-demand price of one kind of usage in a region."""

    usage_type: str
    """With the region's prefix: ``USW2-Cluster:ml.p5.48xlarge``."""
    operation: str
    unit: str
    usd: float
    """For the first unit; later ones may be cheaper."""
    published: date
    """When AWS published the list it is in."""


class Pricing:
    """Raises AwsError where AWS cannot be reached or refuses. The session is one in ``HOME``."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def on_demand(self, service_code: str, region: str, usage: str) -> list[ListedPrice]:
        """Prices of a service in a region whose usage type contains ``usage``."""
        filters = [
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
            {"Type": "CONTAINS", "Field": "usagetype", "Value": usage},
        ]
        about = f"{usage} of {service_code} in {region}"
        documents = self._session.ask_all(
            "pricing", "get_products", "PriceList", about,
            ServiceCode=service_code, Filters=filters, FormatVersion="aws_v1",
        )  # fmt: skip
        return [price for text in documents for price in _prices(json.loads(str(text)))]


def _prices(document: Mapping[str, Any]) -> Iterator[ListedPrice]:
    """The first tier of each on-demand term of one product; free tiers cost nothing and tell nothing."""
    attributes = document["product"]["attributes"]
    for term in document.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = float(dimension["pricePerUnit"].get("USD", 0))
            if dimension.get("beginRange", "0") == "0" and usd > 0:
                yield ListedPrice(
                    usage_type=attributes.get("usagetype", ""),
                    operation=attributes.get("operation", ""),
                    unit=dimension.get("unit", ""),
                    usd=usd,
                    published=date.fromisoformat(document["publicationDate"][:10]),
                )
