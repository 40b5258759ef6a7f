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


def test_an_empty_name_is_not_taken_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(config.ConfigError, match="Is a directory"):
        config.load(config.find("", {}))


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(config.ConfigError, match="is larger than"):
        config.load(Path("/dev/zero"))
