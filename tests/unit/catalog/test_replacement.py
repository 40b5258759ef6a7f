"""The table of properties that replace a resource is AWS's, and covers what our templates hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unbroken.catalog import replacement

ROOT = Path(__file__).resolve().parents[3]


def test_the_table_is_in_step_with_the_pinned_cdk() -> None:
    specification = ROOT / replacement.SPECIFICATION
    if not specification.exists():
        pytest.skip("the cdk command is not installed")
    found = replacement.extract(specification)
    assert {name: frozenset(paths) for name, paths in found.items()} == {
        name: replacement.properties(name) for name in replacement.TYPES
    }


def test_every_type_of_the_golden_templates_is_known() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/synth/golden").glob("*/*.json")]
    templates = [json.loads(text) for text in texts]
    found = {r["Type"] for template in templates for r in template.get("Resources", {}).values()}
    assert found
    assert {name for name in found if name.startswith("AWS::")} <= set(replacement.TYPES)


def test_the_traps_are_in_it() -> None:
    """Throughput of a file system can be raised through FSx, yet CloudFormation replaces the file system."""
    file_system = replacement.properties("AWS::FSx::FileSystem")
    assert "LustreConfiguration.PerUnitStorageThroughput" in file_system
    assert "StorageCapacity" not in file_system
    assert replacement.properties("AWS::SageMaker::Cluster") >= {"ClusterName", "VpcConfig"}
