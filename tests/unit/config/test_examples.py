"""The example files: right, commented, each a cluster of its own, and none repeats a default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.jsonschema import StandardValidator
from pydantic import BaseModel

from unbroken import config
from unbroken.config import reference, source

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "clusters").glob("*.yaml"))
SAID_ALL_THE_SAME = {
    "region",
    "partition",
    "availability_zone_id",
    "strategy",
    "partition_strategy",
    "deployment_type",
    "path",
}
"""Keys whose default a reader is better told."""


def test_there_is_one_for_every_shape() -> None:
    shapes = {"api", "everything", "existing-vpc", "heterogeneous", "mathstral", "no-internet", "small"}
    assert {path.stem for path in EXAMPLES} == shapes | {"p5en-training-plan"}


def test_each_is_a_cluster_of_its_own() -> None:
    names = [config.load(path).name for path in EXAMPLES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_each_says_what_it_is_for(path: Path) -> None:
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    assert first == "# yaml-language-server: $schema=cluster.schema.json"
    assert rest[0].startswith("# ")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_the_schema_takes_each(path: Path) -> None:
    """What an editor underlines is what the loader refuses, not more."""
    validator = StandardValidator(json.loads(reference.schema()))
    root = source.compose(path.read_text(encoding="utf-8"))
    assert root is not None
    data = source.Reading().value(root)
    assert [error.message for error in validator.iter_errors(data)] == []
    assert list(validator.iter_errors({**data, "zzz": 1}))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_none_repeats_a_default(path: Path) -> None:
    repeated = set(_repeated(config.load(path), yaml.safe_load(path.read_text(encoding="utf-8")), ""))
    assert {place for place in repeated if place.rsplit(".")[-1] not in SAID_ALL_THE_SAME} == set()


def _repeated(model: BaseModel, written: dict[str, Any], place: str) -> Iterator[str]:
    for key, value in written.items():
        inner, field = getattr(model, key), type(model).model_fields[key]
        if isinstance(inner, BaseModel) and value:
            yield from _repeated(inner, value, f"{place}.{key}")
        elif isinstance(inner, list) and inner and isinstance(inner[0], BaseModel):
            for each, its in zip(inner, value, strict=True):
                yield from _repeated(each, its, f"{place}.{key}")
        elif not field.is_required() and inner == field.get_default(
            call_default_factory=True, validated_data={}
        ):
            yield f"{place}.{key}"


def test_everything_uses_every_section() -> None:
    """So that no option goes untested by those who deploy the examples."""
    (path,) = [path for path in EXAMPLES if path.stem == "everything"]
    cluster = config.load(path)
    used = {*cluster.model_fields_set}
    for group in cluster.groups():
        used |= group.model_fields_set
    sections = set(config.ClusterConfig.model_fields) | set(config.WorkerGroup.model_fields)
    elsewhere = {"security_group_ids", "training_plan"}  # existing-vpc and p5en-training-plan have these
    assert sections - used == elsewhere
