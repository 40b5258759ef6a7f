"""The catalogue of instance types: the facts that other parts build on."""

from __future__ import annotations

import json
from pathlib import Path

import cfnlint
import pytest

from unbroken.catalog import instance_types


def test_the_seeds_types() -> None:
    p4de = instance_types.get("ml.p4de.24xlarge")
    assert (p4de.gpus, p4de.gpu_memory_gib, p4de.efa_interfaces, p4de.efa_rdma) == (8, 80, 4, True)
    assert (p4de.vcpus, p4de.cores, p4de.memory_gib) == (96, 48, 1152)
    assert p4de.nvme_gib > 7000
    m5 = instance_types.get("ml.m5.12xlarge")
    assert (m5.gpus, m5.efa_interfaces, m5.efa_rdma, m5.nvme_gib, m5.vcpus, m5.memory_gib) == (
        0, 0, False, 0, 48, 192,
    )  # fmt: skip


def test_an_unknown_type_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        instance_types.get("p4de.24xlarge")


@pytest.mark.parametrize("name", instance_types.names())
def test_a_row_makes_sense(name: str) -> None:
    row = instance_types.get(name)
    assert row.name == name
    assert row.name.startswith("ml.")
    assert row.vcpus >= 2
    assert row.memory_gib >= row.vcpus
    assert (row.gpus > 0) == (row.gpu_model is not None) == (row.gpu_memory_gib > 0)
    assert not (row.gpus and row.neuron_devices)
    assert row.efa_interfaces > 0 or not row.efa_rdma


def test_every_type_is_one_that_cloudformation_accepts_somewhere() -> None:
    """cfn-lint carries the types of each region; p5e is in the API's list and not yet in that one."""
    folder = Path(cfnlint.__file__).parent / "data/schemas/extensions/aws_sagemaker_cluster"
    regions = json.loads((folder / "instancetype_enum.json").read_text(encoding="utf-8"))
    accepted = {name for region in regions.values() if isinstance(region, dict) for name in region["enum"]}
    assert set(instance_types.names()) - accepted == {"ml.p5e.48xlarge"}
