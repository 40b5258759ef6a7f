"""Tests that need nodes are skipped, and counted, where this machine cannot have them."""

from __future__ import annotations

import pytest

from unbroken.ops.rehearse import capability


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked ``nodes`` where the probe finds something missing."""
    wanting = [item for item in items if item.get_closest_marker("nodes")]
    missing = capability.probe().missing if wanting else ()
    for item in wanting if missing else ():
        item.add_marker(pytest.mark.skip(reason=f"no nodes here: {'; '.join(missing)}"))
