"""The cluster file made small enough for one machine: what changes, and that all of it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken import config, render
from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse.smaller import smaller
from unbroken.rehearsal.aws.environment import ACCOUNT

OWN_PYTHON = {"python": "/opt/mine/bin/python3"}
GROUP = {"name": "w", "instance_type": "ml.p4de.24xlarge", "num_instances": 4}
EXAMPLES = sorted((Path(__file__).parents[3] / "clusters").glob("*.yaml"))


def cluster(workers: int) -> ClusterConfig:
    group = {**GROUP, "num_instances": workers}
    network = {"private_subnet_cidr": "10.0.128.0/26"}
    content = {"name": "small", "network": network, "worker_groups": [group], "training": OWN_PYTHON}
    return ClusterConfig.model_validate(content)


def test_the_controller_of_a_rehearsal_builds_no_interpreter() -> None:
    """The nodes' image has one; what the cluster file names itself stays."""
    declared = ClusterConfig.model_validate({"name": "x", "worker_groups": [GROUP]})
    found = smaller(declared, None)
    assert {change.setting for change in found.changes} == {"training.python"}
    assert render.node_document(declared)["training"]["environment"] is True
    assert render.node_document(found.config)["training"]["environment"] is False
    assert smaller(cluster(4), None).config.training.python == OWN_PYTHON["python"]


def told(declared: ClusterConfig, workers: int | None = None, *, short: bool = False) -> dict[str, object]:
    return {change.setting: change.rehearsed for change in smaller(declared, workers, short=short).changes}


def test_what_is_small_enough_stays_as_it_is() -> None:
    assert smaller(cluster(4), None).config is not None and told(cluster(4)) == {}
    assert told(cluster(2), short=True) == {}


def test_the_first_group_has_as_many_workers_as_the_user_says() -> None:
    assert told(cluster(4), 2) == {"w.num_instances": 2}
    assert smaller(cluster(4), 2).config == cluster(2)
    assert told(cluster(9)) == {"w.num_instances": 4} and told(cluster(9), short=True) == {
        "w.num_instances": 2
    }
    assert told(cluster(2), 5) == {"w.num_instances": 5}


@pytest.mark.parametrize(
    ("workers", "said"),
    [(100_000, "100000 is more than"), (60, "10.0.128.0/26 has 59 addresses, and 261 are needed")],
)
def test_workers_the_cluster_file_could_not_have_are_refused(workers: int, said: str) -> None:
    with pytest.raises(CannotRun, match=f"^--workers {workers}: {said}"):
        smaller(cluster(4), workers)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_every_example_becomes_small_and_all_that_changed_is_told(path: Path) -> None:
    declared = config.load(path)
    found = smaller(declared, None)
    assert sum(group.num_instances for group in found.config.groups()) <= 10
    assert found.config.termination_protection is False
    before, after = declared.model_dump(exclude_unset=True), found.config.model_dump(exclude_unset=True)
    assert (before != after) == bool(found.changes)
    assert smaller(found.config, None).changes == ()


def test_a_minimum_follows_its_group() -> None:
    declared = config.load(EXAMPLES[0].parent / "api.yaml")
    changes = told(declared)
    assert (changes["gpu.num_instances"], changes["gpu.min_instances"]) == (4, 4)


def test_arns_move_into_the_embedded_account() -> None:
    text = (EXAMPLES[0].parent / "api.yaml").read_text().replace(ACCOUNT, "999988887777")
    declared = config.loads(text, Path("api.yaml"))
    found = smaller(declared, None)
    assert found.config.slurm.accounting_database and declared.slurm.accounting_database
    secret = found.config.slurm.accounting_database.secret_arn
    assert secret == f"arn:aws:secretsmanager:us-west-2:{ACCOUNT}:secret:slurm-accounting-AbCdEf"
    [change] = [c for c in found.changes if c.setting == "slurm.accounting_database.secret_arn"]
    assert change.declared == declared.slurm.accounting_database.secret_arn
