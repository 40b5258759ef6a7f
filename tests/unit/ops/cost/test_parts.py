"""Which parts of a cluster cost, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.cost.bench import cluster
from unbroken.ops.cost import parts
from unbroken.ops.cost.model import Item, Until

PLAN = {
    "arn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
    "availability_zone_id": "usw2-az4",
}
VPC = {"vpc_id": "vpc-0123456789abcdef0", "private_subnet_id": "subnet-0123456789abcdef0"}


def bill(**changes: Any) -> dict[str, tuple[float | None, str]]:
    return {item.key: (item.count, item.until.value) for item in parts.items(cluster(**changes))}


def worker(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "w", "instance_type": "ml.p5.48xlarge", "num_instances": 2} | changes]


def test_a_plain_cluster() -> None:
    assert bill() == {
        "node:ml.m5.12xlarge": (1, "cluster"),
        "node-volume": (500, "cluster"),
        "node:ml.p5.48xlarge": (2, "cluster"),
        "lustre:PERSISTENT_2:SSD:250": (2400, "removed"),
        "nat-gateway": (1, "down"),
        "public-ipv4": (1, "down"),
    }


def test_volumes_are_counted_by_node() -> None:
    items = parts.items(cluster(worker_groups=worker(ebs_gib=1000)))
    assert [item.count for item in items if item.key == "node-volume"] == [500, 2000]


def test_spot_nodes_have_no_on_demand_price() -> None:
    assert "spot:ml.p5.48xlarge" in bill(worker_groups=worker(capacity="spot"))
    assert "node:ml.p5.48xlarge" not in bill(worker_groups=worker(capacity="spot"))


def test_a_training_plan_is_prepaid() -> None:
    (item,) = [
        item
        for item in parts.items(cluster(worker_groups=worker(training_plan=PLAN)))
        if item.key == "node:ml.p5.48xlarge"
    ]
    assert item.prepaid


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        (
            {"deployment_type": "SCRATCH_2", "capacity_gib": 1200, "deletion": "delete"},
            {"lustre:SCRATCH_2:SSD": (1200, "down")},
        ),
        (
            {"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "capacity_gib": 6000,
             "throughput_mbps_per_tib": 12, "drive_cache": "READ"},
            {"lustre:PERSISTENT_1:HDD:12:READ": (6000, "removed")},
        ),
        (
            {"metadata": {"mode": "USER_PROVISIONED", "iops": 12000}},
            {"lustre:PERSISTENT_2:SSD:250": (1200, "removed"), "lustre-metadata": (None, "removed")},
        ),
        (
            {"storage_type": "INTELLIGENT_TIERING", "throughput_mbps": 8000,
             "metadata": {"mode": "USER_PROVISIONED", "iops": 6000}},
            {"lustre-throughput": (8000, "removed"), "lustre-cache": (None, "removed"),
             "lustre-metadata": (None, "removed")},
        ),
        (
            {"storage_type": "INTELLIGENT_TIERING", "throughput_mbps": 4000,
             "read_cache": {"sizing": "USER_PROVISIONED", "gib": 640},
             "metadata": {"mode": "USER_PROVISIONED", "iops": 6000}},
            {"lustre-throughput": (4000, "removed"), "lustre-cache": (640, "removed"),
             "lustre-metadata": (None, "removed")},
        ),
    ],
    ids=["scratch", "hdd", "metadata", "tiering", "tiering with a cache"],
)  # fmt: skip
def test_the_shared_file_system(
    storage: dict[str, Any], expected: dict[str, tuple[float | None, str]]
) -> None:
    found = bill(storage=storage)
    assert {key: value for key, value in found.items() if key.startswith("lustre")} == expected


def test_home_key_and_endpoints() -> None:
    found = bill(
        home={"deployment_type": "SINGLE_AZ_2", "capacity_gib": 256, "throughput_mbps": 320},
        encryption={"kms_key": "create"},
        network={"no_internet": True},
    )
    assert found["openzfs-storage:SINGLE_AZ_2"] == (256, "removed")
    assert found["openzfs-throughput:SINGLE_AZ_2"] == (320, "removed")
    assert found["kms-key"] == (1, "removed")
    assert found["interface-endpoint"] == (7, "down")
    assert not found.keys() & {"nat-gateway", "public-ipv4"}


def test_what_the_file_says_to_delete_ends_with_down() -> None:
    gone = {"deletion": "delete"}
    found = bill(storage=gone, home=gone, logs=gone, encryption={"kms_key": "create", **gone})
    kept = ("lustre", "openzfs", "kms-key")
    assert {ends for key, (_, ends) in found.items() if key.startswith(kept)} == {"down"}


def test_what_is_brought_along_is_not_on_the_bill() -> None:
    lustre = {
        "file_system_id": "fs-0123456789abcdef0",
        "dns_name": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        "mount_name": "abcdefgh",
    }
    found = parts.items(cluster(network={"existing": VPC}, storage={"existing": lustre}))
    assert {item.until for item in found} == {Until.CLUSTER}
    uses = {each.what for each in parts.by_use(cluster(network={"existing": VPC}))}
    assert "NAT gateway" not in uses and "flow logs" not in uses


def test_by_use() -> None:
    everything = cluster(
        network={"no_internet": True},
        encryption={"kms_key": "create"},
        observability={"prometheus": "create", "grafana": "create", "grafana_authentication": "SAML"},
        home={"backup_days": 7},
    )
    assert {each.what for each in parts.by_use(everything)} == {
        "data bucket", "home", "interface endpoints", "flow logs", "nodes' logs", "Prometheus", "Grafana",
        "KMS key",
    }  # fmt: skip
    assert {each.what for each in parts.by_use(cluster())} == {
        "data bucket", "NAT gateway", "flow logs", "nodes' logs",
    }  # fmt: skip


def test_every_part_says_how_much() -> None:
    def words(item: Item) -> str:
        return f"{item.what}: {item.detail}"

    assert [words(item) for item in parts.items(cluster(worker_groups=worker(capacity="spot")))] == [
        "controller-machine: 1 x ml.m5.12xlarge",
        "controller-machine: 1 x 500 GiB volume",
        "w: 2 x ml.p5.48xlarge, spot",
        "file system: 2400 GiB PERSISTENT_2 SSD, 250 MB/s per TiB",
        "NAT gateway: 1",
        "public address: 1, of the NAT gateway",
    ]
