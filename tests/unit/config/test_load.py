"""Loading a cluster file: where a problem is, what it says, and that all are told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken import config
from unbroken.config import ClusterConfig, ConfigError, Problem

REPOSITORY = Path(__file__).resolve().parents[3]
MATHSTRAL = REPOSITORY / "clusters" / "mathstral.yaml"
WORKERS = """
worker_groups:
  - name: w1
    instance_type: ml.p4de.24xlarge
    num_instances: 4
"""


def problems(tmp_path: Path, text: str) -> list[Problem]:
    """What loading this text reports."""
    path = tmp_path / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    return caught.value.problems


def only(tmp_path: Path, text: str) -> Problem:
    found = problems(tmp_path, text)
    assert len(found) == 1, [str(each) for each in found]
    return found[0]


def loaded(tmp_path: Path, text: str) -> ClusterConfig:
    path = tmp_path / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def test_the_default_file_is_the_seed_cluster() -> None:
    cluster = config.load(MATHSTRAL)
    shape = [(group.name, group.instance_type, group.num_instances) for group in cluster.groups()]
    assert shape == [("controller-machine", "ml.m5.12xlarge", 1), ("worker-group-1", "ml.p4de.24xlarge", 4)]
    assert (cluster.name, cluster.worker_groups[0].partition, cluster.user.name) == (
        "ml-cluster",
        "dev",
        "ubuntu",
    )
    assert cluster.network.availability_zone_id == "usw2-az4"
    assert cluster.controller_group.ebs_gib == 500
    assert {group.threads_per_core for group in cluster.groups()} == {1}
    assert (cluster.storage.capacity_gib, cluster.storage.mount_path) == (1200, "/fsx")


def test_the_smallest_file_takes_every_default(tmp_path: Path) -> None:
    cluster = loaded(tmp_path, "name: ml-cluster" + WORKERS)
    assert cluster.model_dump(exclude={"worker_groups"}) == config.load(MATHSTRAL).model_dump(
        exclude={"worker_groups"}
    )


def test_the_shape_of_a_message(tmp_path: Path) -> None:
    found = only(tmp_path, "name: ml-cluster" + WORKERS + "storage:\n  capacity_gib: 1000\n")
    place = f"{tmp_path / 'cluster.yaml'}:7:17 storage.capacity_gib: 1000 "
    rule = "is not a size of PERSISTENT_2 on SSD: 1200 or a multiple of 2400 GiB"
    assert str(found) == f"{place}{rule}\n\nhint: use 1200"


def test_all_problems_are_told_at_once_in_file_order(tmp_path: Path) -> None:
    text = """
name: ml-cluster
regin: us-west-2
storage: {capacity_gib: 3600, throughput_mbps_per_tib: 300}
worker_groups:
  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}
  - {name: w, instance_type: ml.p4de.24xlarg, num_instances: 0}
slurm: {mode: apis}
slurm: {mode: scripts}
"""
    found = problems(tmp_path, text)
    assert [(each.line, each.path) for each in found] == [
        (3, "regin"),
        (4, "storage.capacity_gib"),
        (4, "storage.throughput_mbps_per_tib"),
        (7, "worker_groups[1].name"),
        (7, "worker_groups[1].instance_type"),
        (7, "worker_groups[1].num_instances"),
        (8, "slurm.mode"),
        (9, "slurm"),
    ]


@pytest.mark.parametrize(
    ("key", "hint"),
    [("worker_group", "did you mean worker_groups"), ("zzz", "known here: name, region")],
)
def test_an_unknown_key_points_at_the_key(tmp_path: Path, key: str, hint: str) -> None:
    found = only(tmp_path, f"name: ml-cluster{WORKERS}{key}: 1\n")
    assert (found.line, found.column, found.path, found.value) == (6, 1, key, None)
    assert found.hint.startswith(hint)


def test_an_unknown_key_inside_a_group_is_compared_with_that_groups_keys(tmp_path: Path) -> None:
    found = only(tmp_path, "name: ml-cluster" + WORKERS + "    thread_per_core: 1\n")
    assert (found.path, found.hint) == ("worker_groups[0].thread_per_core", "did you mean threads_per_core")


def test_a_missing_key_says_what_it_is(tmp_path: Path) -> None:
    found = only(tmp_path, WORKERS)
    assert found.path == "name"
    assert found.rule == "is missing"
    assert found.hint.startswith("add it (Name of the cluster")


@pytest.mark.parametrize(
    ("line", "value", "rule"),
    [
        ("tags: {team: 7}", "7", "is not text"),
        ("tags: {team: yes, cost: true}", "true", "is not text"),
        ("storage: []", "[]", "is not a set of keys"),
        ("storage:", None, "is empty; a set of keys belongs here"),
        ("user: {uid: ubuntu}", "ubuntu", "is not a whole number"),
        ("user: {uid: 1000.5}", "1000.5", "is not a whole number"),
        ("user: {uid: true}", "true", "is not a whole number"),
        ("training: {learning_rate: fast}", "fast", "is not a number"),
        ("training: {learning_rate: 1e999}", "inf", "is not a finite number"),
        ("training: {compile: yes}", "yes", "is not true or false"),
        ("training: {activation_checkpointing: yes}", "yes", "is not true, false, full or selective"),
        ("training: {checkpoint_every: often}", "often", "is neither a whole number from 1 nor auto"),
        ("node_recovery: automatic", "automatic", "is not Automatic or None"),
        ("controller_group: {ebs_gib: 0}", "0", "is less than 1"),
    ],
)
def test_a_value_of_the_wrong_kind(tmp_path: Path, line: str, value: str | None, rule: str) -> None:
    found = only(tmp_path, f"name: ml-cluster{WORKERS}{line}\n")
    assert (found.value, found.rule) == (value, rule)
    assert found.hint


def test_plain_values_follow_yaml_1_2(tmp_path: Path) -> None:
    more = "node_recovery: None\ntags: {on: off, time: '12:30'}\ntraining: {learning_rate: 1e-4}\n"
    cluster = loaded(tmp_path, f"name: no{WORKERS}{more}")
    assert (cluster.name, cluster.node_recovery, cluster.training.learning_rate) == ("no", "None", 1e-4)
    assert cluster.tags == {"on": "off", "time": "12:30"}


def test_an_anchor_may_be_used_twice_but_not_inside_itself(tmp_path: Path) -> None:
    text = "name: ml-cluster\ntags: {a: &x one, b: *x}" + WORKERS
    assert loaded(tmp_path, text).tags == {"a": "one", "b": "one"}
    found = problems(tmp_path, "name: ml-cluster\ntags: &t {a: *t}" + WORKERS)
    assert "contains itself" in [each.rule for each in found]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "is empty"),
        (b"# only a comment\n", "is empty"),
        (b"name: \xff\xfe\n", "is not UTF-8 text (byte 6)"),
        (b"just words", "is not a cluster file"),
        (b"- a\n- b\n", "is not a cluster file"),
        (b"name: [a\n", "cannot be read as YAML"),
        (b"name: a\n\tregion: b\n", "cannot be read as YAML"),
        (b"name: a\n---\nname: b\n", "cannot be read as YAML"),
        (b"name: a\x00b\n", "cannot be read as YAML"),
        (b"x: " + b"[" * 5000, "cannot be read as YAML"),
        (b"x" * (1 << 21), "is larger than"),
    ],
)
def test_a_file_that_is_no_cluster_file(tmp_path: Path, content: bytes, rule: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    [found] = caught.value.problems
    assert found.rule.startswith(rule)
    assert found.hint


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError) as caught:
            config.load(path)
        assert str(caught.value).startswith(f"{path}: cannot be read: {reason}")


def test_aliases_of_aliases_are_not_written_out(tmp_path: Path) -> None:
    """A page of them would be more values than there is memory."""
    lines = ["a0: &a0 [" + "x," * 10 + "]"]
    lines += [f"a{n}: &a{n} [" + f"*a{n - 1}," * 10 + "]" for n in range(1, 30)]
    found = only(tmp_path, "name: x\n" + "\n".join(lines))
    assert found.rule == "cannot be read as YAML: more than 50000 values"
    assert found.line == 2


def test_an_alias_is_as_good_as_what_it_stands_for(tmp_path: Path) -> None:
    text = "name: x\nworker_groups:\n  - &w {name: a, instance_type: ml.m5.large, num_instances: &n 2}\n"
    cluster = loaded(tmp_path, text + "  - {name: b, instance_type: ml.m5.large, num_instances: *n}\n")
    assert cluster.worker_groups[1].num_instances == 2


def test_a_byte_order_mark_is_not_part_of_the_first_key(tmp_path: Path) -> None:
    assert loaded(tmp_path, "\ufeffname: ml-cluster" + WORKERS).name == "ml-cluster"


def test_the_value_shown_is_short_and_printable(tmp_path: Path) -> None:
    found = only(tmp_path, "name: '" + "x" * 500 + "\\n'" + WORKERS)
    assert found.value is not None
    assert len(found.value) < 70


def test_a_key_that_a_terminal_would_obey_is_escaped(tmp_path: Path) -> None:
    found = only(tmp_path, "name: ml-cluster" + WORKERS + '"\\e[31mred": 1\n')
    assert found.path == "'\\x1b[31mred'"
    assert "\x1b" not in str(found)


def test_a_loaded_cluster_cannot_be_changed() -> None:
    cluster = config.load(MATHSTRAL)
    with pytest.raises(ValueError, match="frozen"):
        setattr(cluster, "name", "other")  # noqa: B010 (mypy knows that it is frozen)
