"""Addresses out of the subnet, and names."""

from __future__ import annotations

import re

import pytest

from tests.rehearsal.hyperpod.fakes import CONTROLLER, WORKER_1, WORKER_2, Bench, request
from unbroken.rehearsal.hyperpod import addresses
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.machines import Subnet


@pytest.mark.behaviour("HP008")
def test_addresses_come_from_what_is_free_in_the_subnet() -> None:
    sixteen = addresses.allocate("10.0.0.0/28", 11, frozenset())
    assert sorted(sixteen, key=lambda a: int(a.split(".")[3])) == [f"10.0.0.{n}" for n in range(4, 15)]
    assert addresses.allocate("10.0.128.0/17", 2, frozenset({"10.0.128.10"})) == [
        "10.0.128.11",
        "10.0.128.12",
    ]
    with pytest.raises(ValueError, match="has 11 free addresses, 12 are needed"):
        addresses.allocate("10.0.0.0/28", 12, frozenset())


def test_a_full_subnet_is_refused_and_others_interfaces_are_kept_clear_of() -> None:
    bench = Bench()
    taken = frozenset({"10.0.128.10", "10.0.128.11"})
    bench.store.subnets["subnet-1"] = Subnet("subnet-1", "vpc-1", "10.0.128.0/28", "usw2-az4", taken)
    with pytest.raises(ServiceError, match="has 9 free addresses, 21 are needed"):
        bench.service.create_cluster(request(20))
    bench.up(2)
    assert not taken & set(bench.store.interfaces.values())


@pytest.mark.behaviour("HP009")
def test_names() -> None:
    bench = Bench()
    bench.up(2)
    assert [machine.spec.name for machine in bench.machines.made] == [CONTROLLER, WORKER_1, WORKER_2]
    assert [row["NodeLogicalId"] for row in bench.nodes()] == [
        "controller-machine-1",
        "workers-1",
        "workers-2",
    ]
    spec = bench.machine(WORKER_1).spec
    assert (spec.address, spec.prefix_len, spec.gateway) == ("10.0.128.11", 24, "10.0.128.1")


@pytest.mark.behaviour("HP010")
def test_identities() -> None:
    bench = Bench()
    bench.up(2)
    arn = bench.describe()["ClusterArn"]
    assert re.fullmatch(r"arn:aws:sagemaker:us-west-2:000000000000:cluster/[a-z0-9]{12}", arn)
    ids = bench.ids("")
    assert len(set(ids)) == 3 and all(re.fullmatch(r"i-[0-9a-f]{17}", name) for name in ids)


@pytest.mark.behaviour("HP011")
def test_interfaces_stay_from_creation_to_deletion() -> None:
    bench = Bench()
    bench.up(2)
    before = dict(bench.store.interfaces)
    assert sorted(before.values()) == ["10.0.128.10", "10.0.128.11", "10.0.128.12"]
    bench.service.replace_requested("ml", WORKER_1, "Action:Replace")
    bench.settle()
    assert bench.store.interfaces == before
    bench.service.delete_cluster({"ClusterName": "ml"})
    bench.settle()
    assert bench.store.interfaces == {}
