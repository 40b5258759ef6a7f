"""Whatever is done to a cluster file, loading it ends in a cluster or in a printable ConfigError."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from unbroken import config

FULL = """\
name: ml-cluster
region: us-west-2
tags: {team: research, cost: "12"}
node_recovery: Automatic
network:
  availability_zone_id: usw2-az4
  vpc_cidr: 10.0.0.0/16
storage:
  capacity_gib: 1200
  mount_path: /fsx
login_group: {}
controller_group:
  ebs_gib: 500
worker_groups:
  - name: worker-group-1
    instance_type: ml.p4de.24xlarge
    num_instances: 4
    partition: train
  - name: trainium
    instance_type: ml.trn1.32xlarge
    num_instances: 2
    ebs_gib: null
user: {name: ubuntu, uid: 1000}
training:
  num_steps: 5000
  learning_rate: 1e-4
"""
PIECES = [
    "", " ", "null", "~", "[]", "{}", "- ", ": ", "&a ", "*a", "!!int ", "!x ", "<<: ", "? ", "|", ">-",
    "'", '"', "#", "\t", "\n", "%YAML 3.0\n", "---\n", "...\n", "\u0000", "\u2028", "\U0001f600", "-1",
    "1e999", "9" * 30, ".nan", "true", "10.0.0.0/33", "0.0.0.0/0", "2026-01-01", "0x1F", "[" * 50,
    "{a: " * 50,
]  # fmt: skip

Mutation = Callable[[random.Random, str], str]


def insert(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(PIECES) + text[at:]


def cut(dice: random.Random, text: str) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + text[start + dice.randrange(40) :]


def replace_a_value(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    index = dice.randrange(len(lines))
    lines[index] = lines[index].split(":")[0] + ": " + dice.choice(PIECES)
    return "\n".join(lines)


def repeat_a_line(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    lines.insert(dice.randrange(len(lines)), dice.choice(lines))
    return "\n".join(lines)


def swap_two_lines(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def flip_a_byte(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text))
    return text[:at] + chr(dice.randrange(1, 300)) + text[at + 1 :]


MUTATIONS: list[Mutation] = [insert, cut, replace_a_value, repeat_a_line, swap_two_lines, flip_a_byte]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: str(mutation.__name__))
def test_no_change_ends_in_a_traceback(tmp_path: Path, mutation: Mutation) -> None:
    dice = random.Random(mutation.__name__)  # noqa: S311 (not a secret; the same each run)
    path = tmp_path / "cluster.yaml"
    refused = 0
    for _ in range(120):
        text = FULL
        for _ in range(dice.choice([1, 1, 3])):
            text = mutation(dice, text) or FULL
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            config.load(path)
        except config.ConfigError as error:
            refused += 1
            assert all(problem.rule and problem.hint for problem in error.problems), text
            assert str(error).isprintable() or "\n" in str(error)
    assert 0 < refused  # else the mutations do nothing


def test_the_file_they_start_from_is_good(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(FULL, encoding="utf-8")
    assert len(config.load(path).groups()) == 4
