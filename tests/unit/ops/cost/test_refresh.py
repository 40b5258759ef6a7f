"""Asking for prices: what is asked, what is taken for an answer, and what is kept."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from tests.unit.ops.cost.bench import REGION, TODAY, cluster
from unbroken.aws import AwsError
from unbroken.aws.pricing import ListedPrice
from unbroken.catalog.prices import Price, shipped
from unbroken.ops.cost import kept_prices
from unbroken.ops.cost.refresh import ask, refresh
from unbroken.ops.errors import CannotRun

LUSTRE, OPENZFS = "CreateFileSystem:Lustre", "CreateFileSystem:OpenZFS"


def listed(usage: str, usd: float, operation: str = "") -> ListedPrice:
    return ListedPrice(usage, operation, "Hrs", usd, date(2026, 11, 1))


class Listed:
    """A price list that knows what it was given; like AWS, it answers with all that contains the words."""

    def __init__(self, *prices: tuple[str, ListedPrice]) -> None:
        self._prices = prices
        self.asked: list[tuple[str, str, str]] = []

    def on_demand(self, service_code: str, region: str, usage: str) -> list[ListedPrice]:
        self.asked.append((service_code, region, usage))
        return [
            each for service, each in self._prices if service == service_code and usage in each.usage_type
        ]


def answer(key: str, *prices: tuple[str, ListedPrice]) -> tuple[list[float], dict[str, str]]:
    found = ask([key], REGION, Listed(*prices), TODAY)  # type: ignore[arg-type]
    return [each.usd for each in found.prices], found.missing


@pytest.mark.parametrize(
    ("key", "service", "usage", "operation"),
    [
        ("node:ml.p5.48xlarge", "AmazonSageMaker", "USW2-Cluster:ml.p5.48xlarge", "RunInstance"),
        ("node-volume", "AmazonSageMaker", "USW2-Cluster:VolumeUsage.gp2", ""),
        ("lustre:SCRATCH_2:SSD", "AmazonFSx", "USW2-Storage", LUSTRE),
        ("lustre:PERSISTENT_2:SSD:250", "AmazonFSx", "USW2-Storage.SSD.250", LUSTRE),
        ("lustre:PERSISTENT_1:SSD:50", "AmazonFSx", "USW2-Storage.SSD.50", LUSTRE),
        ("openzfs-storage:SINGLE_AZ_2", "AmazonFSx", "EUC1-Storage.SAZ2:SSD", OPENZFS),
        ("openzfs-throughput:SINGLE_AZ_2", "AmazonFSx", "EUC1-ThroughputCapacity.SAZ2", OPENZFS),
        ("nat-gateway", "AmazonEC2", "NatGateway-Hours", "NatGateway"),
        ("public-ipv4", "AmazonVPC", "USW2-PublicIPv4:InUseAddress", ""),
        ("interface-endpoint", "AmazonVPC", "EU-VpcEndpoint-Hours", ""),
        ("kms-key", "awskms", "us-west-2-KMS-Keys", ""),
    ],
)
def test_what_the_list_calls_each_part(key: str, service: str, usage: str, operation: str) -> None:
    assert answer(key, (service, listed(usage, 1.25, operation))) == ([1.25], {})


@pytest.mark.parametrize(
    ("key", "service", "usage", "operation"),
    [
        ("node:ml.p5.48xlarge", "AmazonSageMaker", "USW2-ReservedCluster:ml.p5.48xlarge", ""),
        ("node:ml.p5.48xlarge", "AmazonSageMaker", "USW2-Cluster:ml.p5.48xlarge.more", ""),
        ("node:ml.p5.48xlarge", "AmazonSageMaker", "USW2-Train:ml.p5.48xlarge", ""),
        ("nat-gateway", "AmazonEC2", "USW2-RegionalNatGateway-Hours", ""),
        ("lustre:PERSISTENT_1:SSD:50", "AmazonFSx", "USW2-Storage.SSD.500", LUSTRE),
        ("lustre:SCRATCH_2:SSD", "AmazonFSx", "USW2-Storage", "CreateFileSystem:Windows"),
        ("lustre:SCRATCH_2:SSD", "AmazonFSx", "USW2-Storage.SSD.125", LUSTRE),
    ],
)
def test_what_only_looks_alike_is_no_answer(key: str, service: str, usage: str, operation: str) -> None:
    prices, missing = answer(key, (service, listed(usage, 1.25, operation)))
    assert prices == [] and "no prices" in missing[key]


def test_two_different_prices_are_no_answer() -> None:
    two = [("AmazonSageMaker", listed(f"USW2-Cluster:VolumeUsage.gp{n}", float(n))) for n in (2, 3)]
    assert answer("node-volume", *two) == (
        [],
        {"node-volume": r"the Price List has 2 prices for Cluster:VolumeUsage\.gp\d"},
    )


def test_the_same_price_twice_is_one_answer() -> None:
    same = ("AmazonEC2", listed("USW2-NatGateway-Hours", 0.045))
    assert answer("nat-gateway", same, same) == ([0.045], {})


@pytest.mark.parametrize(
    "key", ["spot:ml.p5.48xlarge", "lustre:SCRATCH_1:SSD", "openzfs-storage:SINGLE_AZ_HA_2"]
)
def test_what_has_no_known_name_is_not_asked_for(key: str) -> None:
    pricing = Listed()
    found = ask([key], REGION, pricing, TODAY)  # type: ignore[arg-type]
    assert found.missing == {key: "what the Price List calls it is not known"}
    assert pricing.asked == []


def test_a_clusters_prices_are_asked_for_once_and_kept(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    pricing = Listed(
        ("AmazonSageMaker", listed("USW2-Cluster:ml.p5.48xlarge", 61.5)),
        ("AmazonEC2", listed("USW2-NatGateway-Hours", 0.046)),
    )
    groups = [
        {"name": name, "instance_type": "ml.p5.48xlarge", "num_instances": 1, "partition": "train"}
        for name in ("a", "b")
    ]
    answers, path = refresh(cluster(worker_groups=groups), env, TODAY, pricing)  # type: ignore[arg-type]
    assert len(pricing.asked) == len(set(pricing.asked)) == 6
    assert {each.usd for each in answers.prices} == {61.5, 0.046}
    assert path == tmp_path / "unbroken/prices.json"
    found = kept_prices.known(env).find("node:ml.p5.48xlarge", REGION)
    assert found == Price(
        "node:ml.p5.48xlarge", 61.5, REGION, TODAY,
        "AWS Price List, AmazonSageMaker, USW2-Cluster:ml.p5.48xlarge, published 2026-11-01",
    )  # fmt: skip


def test_prepaid_nodes_are_not_asked_for(tmp_path: Path) -> None:
    plan = {
        "arn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
        "availability_zone_id": "usw2-az4",
    }
    group = {"name": "w", "instance_type": "ml.p5.48xlarge", "num_instances": 2, "training_plan": plan}
    pricing = Listed()
    refresh(cluster(worker_groups=[group]), {"XDG_CACHE_HOME": str(tmp_path)}, TODAY, pricing)  # type: ignore[arg-type]
    assert "Cluster:ml.p5.48xlarge" not in {usage for _, _, usage in pricing.asked}


def test_a_refusal_is_a_sentence_and_keeps_nothing(tmp_path: Path) -> None:
    class Refusing(Listed):
        def on_demand(self, service_code: str, region: str, usage: str) -> list[ListedPrice]:
            raise AwsError("GetProducts was refused", "ask for pricing:GetProducts")

    with pytest.raises(CannotRun, match="GetProducts was refused") as caught:
        refresh(cluster(), {"XDG_CACHE_HOME": str(tmp_path)}, TODAY, Refusing())  # type: ignore[arg-type]
    assert "pricing:GetProducts" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_kept_prices_add_up_and_the_newer_counts(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    old = Price("nat-gateway", 1.0, REGION, date(2026, 11, 1), "a")
    kept_prices.keep([old, Price("kms-key", 1.0, REGION, date(2026, 11, 1), "a")], env)
    kept_prices.keep([Price("nat-gateway", 2.0, REGION, date(2026, 11, 2), "b")], env)
    known = kept_prices.known(env)
    assert [known.find(key, REGION).usd for key in ("nat-gateway", "kms-key")] == [2.0, 1.0]  # type: ignore[union-attr]
    assert known.find("node:ml.p4d.24xlarge", REGION) == shipped().find("node:ml.p4d.24xlarge", REGION)


def test_a_shipped_price_newer_than_the_kept_one_counts(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    kept_prices.keep([Price("nat-gateway", 9.0, REGION, date(2026, 1, 1), "a")], env)
    assert kept_prices.known(env).find("nat-gateway", REGION) == shipped().find("nat-gateway", REGION)


def test_without_kept_prices_the_shipped_ones_are_known(tmp_path: Path) -> None:
    assert list(kept_prices.known({"XDG_CACHE_HOME": str(tmp_path)})) == list(shipped())


@pytest.mark.parametrize("text", ["", "{}", '{"prices": [{"key": "x"}]}', '{"prices": 3}', "[1]"])
def test_a_damaged_file_is_a_sentence_with_a_way_out(tmp_path: Path, text: str) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    path = kept_prices.file(env)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(CannotRun) as caught:
        kept_prices.known(env)
    assert caught.value.hint == f"remove it: rm {path}"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "unbroken").write_text("a file in the way")
    with pytest.raises(CannotRun, match="cannot be written"):
        kept_prices.keep([], {"XDG_CACHE_HOME": str(tmp_path)})


def test_the_kept_file_says_its_version(tmp_path: Path) -> None:
    path = kept_prices.keep([Price("kms-key", 1.0, REGION, TODAY, "a")], {"XDG_CACHE_HOME": str(tmp_path)})
    document = json.loads(path.read_text())
    assert document["schema_version"] == 1
    assert document["prices"][0]["day"] == "2026-11-30"
