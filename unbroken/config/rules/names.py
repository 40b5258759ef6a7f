"""Names of groups, stacks and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unbroken.config.groups import ControllerGroup, LoginGroup
from unbroken.config.rules.needs import GROUPS, Rule, reads
from unbroken.config.section import Fault
from unbroken.config.sections import Sections

MOST_GROUPS = 100
"""Instance groups of a cluster (SageMaker API reference, CreateCluster)."""


def repeated(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Each group has a name of its own. Works on plain data, whatever else is wrong with the groups."""
    seen = {_name(data.get("controller_group")) or ControllerGroup().name}
    for section in ("login_groups", "worker_groups"):
        groups = data.get(section)
        for index, group in enumerate(groups if isinstance(groups, list) else []):
            name = _name(group) or (LoginGroup().name if section == "login_groups" else None)
            if name in seen:
                yield Fault(
                    (section, index, "name"), name, "names two groups", "give each group its own name"
                )
            if name:
                seen.add(name)


def _name(group: Any) -> str | None:
    name = group.get("name") if isinstance(group, Mapping) else None
    return name if isinstance(name, str) else None


@reads(*GROUPS)
def _repeated(cluster: Sections) -> Iterator[Fault]:
    yield from repeated(cluster.model_dump(include=set(GROUPS)))


@reads(*GROUPS)
def _too_many(cluster: Sections) -> Iterator[Fault]:
    count = len(cluster.groups())
    if count > MOST_GROUPS:
        rule = f"groups with the others make {count}; HyperPod takes {MOST_GROUPS}"
        yield Fault(("worker_groups",), len(cluster.worker_groups), rule, "join groups of one type")


RULES: tuple[Rule, ...] = (_repeated, _too_many)
