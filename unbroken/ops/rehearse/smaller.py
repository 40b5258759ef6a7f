"""The cluster file as it can be rehearsed on one machine: fewer nodes, and ARNs of the embedded account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from unbroken.config import ClusterConfig
from unbroken.config.explain import explain
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse.options import TRAINING_PYTHON
from unbroken.rehearsal.aws.environment import ACCOUNT

MOST_WORKERS = 4
"""In the first worker group, which runs the job, unless the user says how many."""
MOST_OTHERS = 1
"""In every other group; a node more takes memory and shows nothing more."""
SHORT_WORKERS = 2
_ARN = re.compile(r"^(arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:)\d{12}(:.*)$")


@dataclass(frozen=True)
class Change:
    """A setting that is rehearsed otherwise than the cluster file says."""

    setting: str
    declared: object
    rehearsed: object


@dataclass(frozen=True)
class Rehearsed:
    """The cluster file to rehearse, and what was changed about it."""

    config: ClusterConfig
    changes: tuple[Change, ...]


def smaller(declared: ClusterConfig, workers: int | None, *, short: bool = False) -> Rehearsed:
    """The cluster with few enough nodes; CannotRun where a cluster file could not ask for that either."""
    content = declared.model_dump(exclude_unset=True)
    changes = [*_nodes(declared, content, workers, short), *_arns(content), *_protection(content)]
    changes += _interpreter(declared, content)
    if not changes:
        return Rehearsed(declared, ())
    try:
        return Rehearsed(ClusterConfig.model_validate(content), tuple(changes))
    except ValidationError as error:
        broken = next(explain(error, ClusterConfig))
        raise CannotRun(f"--workers {workers}: {broken.value} {broken.rule}", broken.hint) from None


def _nodes(
    declared: ClusterConfig, content: dict[str, Any], workers: int | None, short: bool
) -> Iterator[Change]:
    first = declared.worker_groups[0].num_instances
    usual = min(first, SHORT_WORKERS if short else MOST_WORKERS)
    counts = [workers if workers is not None else usual]
    counts += [min(group.num_instances, MOST_OTHERS) for group in declared.worker_groups[1:]]
    for index, count in enumerate(counts):
        yield from _count(content["worker_groups"][index], count)
    for group in content.get("login_groups", []):
        yield from _count(group, MOST_OTHERS)


def _count(group: dict[str, Any], count: int) -> Iterator[Change]:
    """Set a group's number, and what must not be above it."""
    name = group.get("name", "login-group")
    before = group.get("num_instances", MOST_OTHERS)
    if before != count:
        group["num_instances"] = count
        yield Change(f"{name}.num_instances", before, count)
    minimum = group.get("min_instances")
    if minimum is not None and minimum > count:
        group["min_instances"] = count
        yield Change(f"{name}.min_instances", minimum, count)


def _arns(content: Any, where: str = "") -> Iterator[Change]:
    """Move ARNs into the embedded AWS's account, in place."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(items):
        path = f"{where}.{key}" if where else str(key)
        if isinstance(value, dict | list):
            yield from _arns(value, path)
        elif isinstance(value, str) and (moved := _ARN.sub(rf"\g<1>{ACCOUNT}\g<2>", value)) != value:
            content[key] = moved
            yield Change(path, value, moved)


def _protection(content: dict[str, Any]) -> Iterator[Change]:
    """A rehearsal ends with a destroy, which protected stacks would refuse."""
    if content.get("termination_protection"):
        content["termination_protection"] = False
        yield Change("termination_protection", True, False)


def _interpreter(declared: ClusterConfig, content: dict[str, Any]) -> Iterator[Change]:
    """The nodes' image has the ranks' Python; the controller need not build one, and has no index to ask."""
    built = f"{declared.storage.mount_path}/unbroken/env/bin/python3"
    if declared.training.python == built:
        content.setdefault("training", {})["python"] = TRAINING_PYTHON
        yield Change("training.python", built, TRAINING_PYTHON)
