"""One account, one region and one partition of AWS in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unbroken.catalog import regions
from unbroken.config.rules.needs import Rule, reads
from unbroken.config.section import Fault, Path, dotted
from unbroken.config.sections import Sections


@dataclass(frozen=True)
class Arn:
    """An Amazon Resource Name and where the file has it."""

    path: Path
    text: str

    @property
    def partition(self) -> str:
        """``aws`` for most."""
        return self._part(1)

    @property
    def service(self) -> str:
        """As in ``kms``."""
        return self._part(2)

    @property
    def region(self) -> str:
        """Empty where the kind of resource has none."""
        return self._part(3)

    @property
    def account(self) -> str:
        """The account's number; empty for what belongs to AWS."""
        return self._part(4) if self._part(4).isdigit() else ""

    def _part(self, index: int) -> str:
        return self.text.split(":")[index]


def arns(data: Any, path: Path = ()) -> Iterator[Arn]:
    """Every ARN of a cluster file's data, in order."""
    if isinstance(data, str) and data.startswith("arn:") and data.count(":") >= 5:
        yield Arn(path, data)
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from arns(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from arns(value, (*path, index))


@reads("region")
def _same_region(cluster: Sections) -> Iterator[Fault]:
    partition = regions.partition(cluster.region)
    for arn in _all(cluster):
        if arn.partition != partition:
            rule = f"is in the partition {arn.partition}, but {cluster.region} is in {partition}"
            yield Fault(arn.path, arn.text, rule, f"use an ARN that begins with arn:{partition}:")
        elif arn.region not in ("", cluster.region):
            rule = f"is in {arn.region}, but the cluster is in {cluster.region}"
            yield Fault(arn.path, arn.text, rule, f"use one in {cluster.region}, or change region")


@reads()
def _same_account(cluster: Sections) -> Iterator[Fault]:
    first: Arn | None = None
    for arn in _all(cluster):
        if first is not None and arn.account not in ("", first.account):
            rule = f"is of account {arn.account}, but {dotted(first.path)} is of {first.account}"
            yield Fault(arn.path, arn.text, rule, "use ARNs of one account, the one that has the cluster")
        elif first is None and arn.account:
            first = arn


def _all(cluster: Sections) -> Iterator[Arn]:
    sections = {"encryption", "identity", "slurm", "controller_group", "login_groups", "worker_groups"}
    yield from arns(cluster.model_dump(include=sections))


RULES: tuple[Rule, ...] = (_same_region, _same_account)
