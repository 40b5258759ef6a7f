"""Which AWS a verb works on, and that the embedded one never sees the user's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken.ops.choose_target import chosen
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse import kept
from unbroken.ops.target import on_aws, on_embedded

FILE = "name: {name}\nworker_groups:\n  - {{name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}}\n"


@pytest.fixture
def rehearsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own = tmp_path / "own.yaml"
    own.write_text(FILE.format(name="ml"))
    found = kept.Kept("1130", tmp_path, 1, "ml", "us-west-2", "controller-machine", tmp_path, own)
    monkeypatch.setattr(kept, "find", lambda identity: found)
    return own


def test_a_rehearsal_is_worked_on_with_its_own_file(rehearsed: Path) -> None:
    path, config, target = chosen("rehearsal", None)
    assert (path, config.name, target.name) == (rehearsed, "ml", "rehearsal")
    assert target.nodes is not None and not target.real


def test_another_clusters_file_is_refused(rehearsed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(FILE.format(name="other"))
    with pytest.raises(CannotRun, match="is of other in us-west-2, and the rehearsal 1130 is of ml"):
        chosen("rehearsal", str(other))


def test_no_such_target() -> None:
    with pytest.raises(CannotRun, match="'azure' is no target"):
        chosen("azure", None)


def test_aws_is_reached_with_the_users_settings_in_the_files_region() -> None:
    target = on_aws("us-east-2", {"AWS_PROFILE": "team", "AWS_REGION": "eu-west-1"})
    assert target.environment["AWS_PROFILE"] == "team"
    assert {target.environment[name] for name in ("AWS_REGION", "AWS_DEFAULT_REGION")} == {"us-east-2"}
    assert target.real and target.pace.seconds == 5


def test_the_embedded_aws_is_reached_without_them() -> None:
    target = on_embedded(4566, "us-west-2", base={"AWS_PROFILE": "team", "PATH": "/usr/bin"})
    assert "AWS_PROFILE" not in target.environment
    assert target.environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
