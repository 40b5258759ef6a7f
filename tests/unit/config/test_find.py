"""Which cluster file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken import config


def test_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = {"UNBROKEN_CLUSTER": "from-env.yaml"}
    assert config.find(None, {}) == Path("clusters/mathstral.yaml")
    Path("cluster.yaml").touch()
    assert config.find(None, {}) == Path("cluster.yaml")
    assert config.find(None, {"UNBROKEN_CLUSTER": ""}) == Path("cluster.yaml")
    assert config.find(None, env) == Path("from-env.yaml")
    assert config.find("named.yaml", env) == Path("named.yaml")
