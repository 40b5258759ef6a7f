"""Cluster files made of one good file and a few changed sections, and what loading them tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from unbroken import config

ACCOUNT = "111122223333"
WORKERS: dict[str, Any] = {"name": "w1", "instance_type": "ml.p4de.24xlarge", "num_instances": 4}


def worker(**changes: Any) -> dict[str, Any]:
    """One worker group."""
    return {**WORKERS, **changes}


def load(**sections: Any) -> config.ClusterConfig:
    """The cluster of a good file with these sections. Raises ConfigError."""
    data = {"name": "ml-cluster", "worker_groups": [worker()], **sections}
    return config.loads(yaml.safe_dump(data, sort_keys=False), Path("cluster.yaml"))


def told(**sections: Any) -> list[str]:
    """What is wrong with such a file: ``path: value rule -> hint``; nothing for a good one."""
    try:
        load(**sections)
    except config.ConfigError as error:
        return [_line(problem) for problem in error.problems]
    return []


def _line(problem: config.Problem) -> str:
    value = f" {problem.value}" if problem.value is not None else ""
    return f"{problem.path}:{value} {problem.rule} -> {problem.hint}"
