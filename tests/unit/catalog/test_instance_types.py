"""The catalogue of instance types: the facts that other parts build on, and that unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from unbroken.catalog import instance_types
from unbroken.catalog.documents import document


def facts(name: str) -> dict[str, Any]:
    row = instance_types.get(name)
    return {key: getattr(row, key) for key in ("vcpus", "cores", "memory_gib", "gpus", "gpu_model")} | {
        "each": row.gpu_memory_gib,
        "efa": row.efa_interfaces,
        "gbps": row.network_gbps,
        "nvme_gb": row.nvme_gb,
    }


def test_the_seeds_types() -> None:
    """By hand from Amazon EC2's pages on P4d and M5."""
    assert facts("ml.p4de.24xlarge") == {
        "vcpus": 96, "cores": 48, "memory_gib": 1152, "gpus": 8, "gpu_model": "A100", "each": 80,
        "efa": 4, "gbps": 400.0, "nvme_gb": 8000,
    }  # fmt: skip
    assert facts("ml.m5.12xlarge") == {
        "vcpus": 48, "cores": 24, "memory_gib": 192, "gpus": 0, "gpu_model": None, "each": None,
        "efa": 0, "gbps": 12.0, "nvme_gb": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "read", "write"),
    [
        ("ml.p4d.24xlarge", True, False),
        ("ml.p5.48xlarge", True, True),
        ("ml.trn1.32xlarge", True, True),
        ("ml.g6e.12xlarge", True, True),
        ("ml.g5.12xlarge", False, False),
        ("ml.g6.2xlarge", False, False),  # no EFA at all
        ("ml.c5n.18xlarge", False, False),
    ],
)
def test_remote_memory(name: str, read: bool, write: bool) -> None:
    row = instance_types.get(name)
    assert (row.rdma_read, row.rdma_write, row.efa_rdma) == (read, write, read)


@pytest.mark.parametrize(
    ("name", "slurm", "eks"),
    [
        ("ml.p5.48xlarge", 32, 81),  # as the HyperPod developer guide says
        ("ml.p4d.24xlarge", 4, 53),
        ("ml.m5.12xlarge", 1, 30),
        ("ml.t3.medium", 1, 6),
        ("ml.p6-b300.48xlarge", 17, 66),
    ],
)
def test_addresses_of_a_node(name: str, slurm: int, eks: int) -> None:
    row = instance_types.get(name)
    assert (row.addresses_slurm, row.addresses_eks) == (slurm, eks)


@pytest.mark.parametrize(
    ("name", "architecture", "cores"),
    [
        ("ml.m7g.4xlarge", "arm64", 16),  # Graviton: one thread a core
        ("ml.m8a.16xlarge", "x86_64", 64),  # this AMD generation too
        ("ml.m6a.16xlarge", "x86_64", 32),
        ("ml.c5.18xlarge", "x86_64", 36),
    ],
)
def test_cores(name: str, architecture: str, cores: int) -> None:
    row = instance_types.get(name)
    assert (row.architecture, row.cores) == (architecture, cores)


def test_accelerators_of_aws() -> None:
    trn2 = instance_types.get("ml.trn2.48xlarge")
    assert (trn2.neuron_devices, trn2.neuron_model, trn2.gpus) == (16, "Trainium2", 0)
    assert trn2.neuron_memory_mib == 96 * 1024  # the documentation goes before what EC2 says


def test_what_no_source_says_is_unknown() -> None:
    row = instance_types.get("ml.p6e-gb200.36xlarge")
    assert (row.efa_interfaces, row.network_gbps) == (None, None)
    assert row.addresses_slurm == 17 and row.efa_rdma


def test_a_type_without_any_facts_is_all_unknown() -> None:
    row = instance_types.InstanceType("ml.new.large")
    unknown = (
        row.cores,
        row.memory_gib,
        row.nvme_gib,
        row.gpu_memory_gib,
        row.addresses_slurm,
        row.addresses_eks,
    )
    assert set(unknown) == {None}
    assert not row.efa_rdma


def test_an_unknown_type_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        instance_types.get("p4de.24xlarge")


@pytest.mark.parametrize("name", instance_types.names())
def test_a_row_makes_sense(name: str) -> None:
    row = instance_types.get(name)
    assert row.name == name and name.startswith("ml.")
    assert row.vcpus and row.memory_gib and row.cores
    assert row.memory_gib >= row.vcpus
    assert bool(row.gpus) == bool(row.gpu_model) == bool(row.gpu_memory_gib)
    assert bool(row.neuron_devices) == bool(row.neuron_model)
    assert not (row.gpus and row.neuron_devices)
    assert (row.rdma_read is not None) and (not row.rdma_write or row.rdma_read)
    assert row.efa_interfaces is None or row.efa_interfaces <= (row.network_cards or 0)


def test_regions() -> None:
    here = instance_types.in_region("us-west-2")
    assert here is not None and {"ml.p4de.24xlarge", "ml.trn1.32xlarge"} < here
    assert instance_types.in_region("mars-north-1") is None
    assert instance_types.offered("ml.p5.48xlarge", "us-west-2") is True
    assert instance_types.offered("ml.p6-b300.48xlarge", "eu-south-2") is False
    assert instance_types.offered("ml.p5e.48xlarge", "us-west-2") is None  # in no region's list
    assert instance_types.offered("ml.p5.48xlarge", "mars-north-1") is None


@pytest.fixture
def other_documents(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, Any]]]:
    documents = {name: dict(document(name)) for name in ("accepted", "described", "curated")}
    monkeypatch.setattr(instance_types, "document", documents.__getitem__)
    instance_types._catalogue.cache_clear()
    yield documents
    instance_types._catalogue.cache_clear()


def test_a_type_that_appears_in_the_list_is_known_at_once(
    other_documents: dict[str, dict[str, Any]],
) -> None:
    accepted = other_documents["accepted"]
    other_documents["accepted"] = accepted | {"only_in_api": [*accepted["only_in_api"], "ml.x9.huge"]}
    assert instance_types.get("ml.x9.huge") == instance_types.InstanceType("ml.x9.huge")


def test_every_source_is_named() -> None:
    assert all(len(source) > 20 for source in instance_types.sources().values())
    assert {"accepted", "described", "rdma", "ml.p6e-gb200.36xlarge"} <= instance_types.sources().keys()
