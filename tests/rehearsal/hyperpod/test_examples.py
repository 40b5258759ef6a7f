"""The emulated service takes what every example asks for, as the stacks ask for it, whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import BUNDLE, ROLE, Bench
from unbroken import config, render
from unbroken.config import ClusterConfig
from unbroken.rehearsal.hyperpod.machines import SecurityGroup, Subnet
from unbroken.rehearsal.hyperpod.states import TrainingPlan
from unbroken.render.hyperpod import Surroundings, create_cluster
from unbroken.render.hyperpod_storage import FileSystems

EXAMPLES = sorted((Path(__file__).parents[3] / "clusters").glob("*.yaml"))
DNS = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"


def account(cluster: ClusterConfig) -> Bench:
    """An account with all that the cluster stands on."""
    bench = Bench()
    network, store = cluster.network, bench.store
    zones = {"private": (network.availability_zone_id, network.private_subnet_cidr)}
    zones |= {subnet.name: (subnet.availability_zone_id, subnet.cidr) for subnet in network.subnets}
    store.subnets = {name: Subnet(name, "vpc-1", cidr, zone) for name, (zone, cidr) in zones.items()}
    for group in cluster.groups():
        for group_id in group.security_group_ids:
            store.groups[group_id] = SecurityGroup(group_id, "vpc-1", True, True)
    store.bundles[BUNDLE]["provisioning_parameters.json"] = render.provisioning_parameters(
        cluster, DNS, "abcd1234"
    ).encode()
    database = cluster.slurm.accounting_database
    if database:
        store.secrets[database.secret_arn] = {"username": "slurm", "password": "secret"}
    for worker in cluster.worker_groups:
        if plan := worker.training_plan:
            zone, count = plan.availability_zone_id, worker.num_instances
            bench.service.add_training_plan(TrainingPlan(plan.arn, worker.instance_type, zone, count))
    return bench


def request(cluster: ClusterConfig) -> Mapping[str, Any]:
    around = Surroundings(
        execution_role_arn=ROLE,
        private_subnet_id="private",
        security_group_ids=["sg-1"],
        lifecycle_uri=BUNDLE,
        file_systems=FileSystems(DNS, "abcd1234", DNS if cluster.home else None),
        key_arn="arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        subnet_ids={subnet.name: subnet.name for subnet in cluster.network.subnets},
    )
    return create_cluster(cluster, around)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_every_example_comes_into_service_as_it_is_written(path: Path) -> None:
    cluster = config.load(path)
    bench = account(cluster)
    bench.service.create_cluster(request(cluster))
    bench.settle()
    seen = bench.service.describe_cluster({"ClusterName": cluster.name})
    assert seen["ClusterStatus"] == "InService", seen
    counts = {group["InstanceGroupName"]: group["CurrentCount"] for group in seen["InstanceGroups"]}
    assert counts == {group.name: group.num_instances for group in cluster.groups()}
    configured = len(bench.machines.order("host setup"))
    assert configured == (sum(counts.values()) if cluster.slurm.mode == "api" else 0)
    scripts = {machine.calls[-1].split("$ bash ")[1].split(" ")[0] for machine in bench.machines.made}
    assert scripts == {"on_init_complete.sh" if cluster.slurm.mode == "api" else "on_create.sh"}
