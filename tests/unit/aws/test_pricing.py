"""The AWS Price List, against answers of the shape that botocore's model and public recordings have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from botocore.stub import Stubber

from unbroken.aws import AwsError
from unbroken.aws.pricing import HOME, ListedPrice, Pricing
from unbroken.aws.session import Session, with_keys


def document(
    usage: str, usd: str, unit: str = "Hrs", operation: str = "RunInstance", **dimension: str
) -> str:
    """One item of GetProducts' PriceList: a document as text."""
    price = {"unit": unit, "pricePerUnit": {"USD": usd}, "beginRange": "0", "endRange": "Inf"} | dimension
    return json.dumps(
        {
            "product": {
                "productFamily": "ML Instance",
                "sku": "KY5ZUKH5T8SX7QMM",
                "attributes": {"usagetype": usage, "operation": operation, "regionCode": "us-west-2"},
            },
            "serviceCode": "AmazonSageMaker",
            "terms": {"OnDemand": {"KY5Z.JRTC": {"priceDimensions": {"KY5Z.JRTC.6YS6": price}}}},
            "version": "20260916170501",
            "publicationDate": "2026-09-16T17:05:01Z",
        }
    )


@pytest.fixture
def stubbed() -> Iterator[tuple[Pricing, Stubber]]:
    session = Session(HOME, boto=with_keys("k", "s"))
    with Stubber(session.client("pricing")) as stubber:
        yield Pricing(session), stubber


def question(token: str | None = None) -> dict[str, Any]:
    filters = [
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-west-2"},
        {"Type": "CONTAINS", "Field": "usagetype", "Value": "Cluster:ml.p5"},
    ]
    asked = {"ServiceCode": "AmazonSageMaker", "Filters": filters, "FormatVersion": "aws_v1"}
    return asked | ({"NextToken": token} if token else {})


def test_all_pages_are_read(stubbed: tuple[Pricing, Stubber]) -> None:
    pricing, stubber = stubbed
    first = {"FormatVersion": "aws_v1", "PriceList": [document("USW2-Cluster:ml.p5.48xlarge", "66.048")]}
    second = {"FormatVersion": "aws_v1", "PriceList": [document("USW2-Cluster:ml.p5en.48xlarge", "75.5")]}
    stubber.add_response("get_products", first | {"NextToken": "more"}, question())
    stubber.add_response("get_products", second, question("more"))
    assert pricing.on_demand("AmazonSageMaker", "us-west-2", "Cluster:ml.p5") == [
        ListedPrice("USW2-Cluster:ml.p5.48xlarge", "RunInstance", "Hrs", 66.048, date(2026, 9, 16)),
        ListedPrice("USW2-Cluster:ml.p5en.48xlarge", "RunInstance", "Hrs", 75.5, date(2026, 9, 16)),
    ]
    stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    "text",
    [
        document("USW2-Cluster:ml.p5.48xlarge", "0.0000000000"),
        document("USW2-Cluster:ml.p5.48xlarge", "1.0", beginRange="1000"),
        json.dumps({**json.loads(document("USW2-Cluster:ml.p5.48xlarge", "1")), "terms": {"Reserved": {}}}),
        document("USW2-Cluster:ml.p5.48xlarge", "1").replace('"USD"', '"CNY"'),
    ],
    ids=["free", "a later tier", "reserved", "another currency"],
)
def test_what_is_no_price_on_demand(stubbed: tuple[Pricing, Stubber], text: str) -> None:
    pricing, stubber = stubbed
    stubber.add_response("get_products", {"PriceList": [text]}, question())
    assert pricing.on_demand("AmazonSageMaker", "us-west-2", "Cluster:ml.p5") == []


def test_a_refusal_is_explained(stubbed: tuple[Pricing, Stubber]) -> None:
    pricing, stubber = stubbed
    stubber.add_client_error("get_products", "AccessDeniedException", "not authorized: pricing:GetProducts")
    with pytest.raises(AwsError, match=r"GetProducts of Cluster:ml\.p5 of AmazonSageMaker") as caught:
        pricing.on_demand("AmazonSageMaker", "us-west-2", "Cluster:ml.p5")
    assert caught.value.denied
