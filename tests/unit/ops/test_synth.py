"""Templates by a subprocess: read back by area, refused in app.py's own words, without the user's AWS."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken.ops import synth as module
from unbroken.ops.errors import CannotRun
from unbroken.ops.synth import Assembly, synth
from unbroken.ops.tools import project_root

ROOT = project_root()


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synth(ROOT, ROOT / "clusters" / "mathstral.yaml", tmp_path_factory.mktemp("assembly") / "out")


def test_templates_are_read_by_area_in_the_order_of_a_deployment(assembly: Assembly) -> None:
    assert assembly.areas[:2] == ["network", "storage"] and assembly.areas[-1] == "cluster"
    assert assembly.stack_name("cluster").endswith("-cluster")
    assert "Resources" in assembly.template("network")


def test_a_wrong_file_is_refused_in_the_words_of_the_app(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("name: ml\nregion: nowhere-9\n")
    with pytest.raises(CannotRun, match=r"(?s)wrong.yaml.*nowhere-9"):
        synth(ROOT, wrong, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_app_that_breaks_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("raise RuntimeError('no space left')")
    with pytest.raises(CannotRun, match=r"^app\.py ended with exit code 1: RuntimeError: no space left$"):
        synth(tmp_path, tmp_path / "c.yaml", tmp_path / "out")


def test_nothing_of_the_users_aws_is_seen(tmp_path: Path) -> None:
    base = {"AWS_PROFILE": "production", "CDK_DEFAULT_ACCOUNT": "1", "PATH": "/usr/bin"}
    env = module._environment(ROOT, {}, tmp_path, base)
    assert not [key for key in env if key.startswith(("AWS_", "CDK_DEFAULT_"))]


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotRun, match=r"/file/up: Not a directory"):
        synth(ROOT, ROOT / "clusters" / "mathstral.yaml", tmp_path / "file" / "up" / "cdk.out")


def test_a_home_that_cannot_be_written_to_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    base = {"PATH": "/usr/bin", "HOME": str(tmp_path / "file")}
    env = module._environment(ROOT, {}, tmp_path, base)
    assert env["JSII_RUNTIME_PACKAGE_CACHE"] == "disabled"
    fit = base | {"HOME": str(tmp_path)}
    assert "JSII_RUNTIME_PACKAGE_CACHE" not in module._environment(ROOT, {}, tmp_path, fit)
    chosen = base | {"JSII_RUNTIME_PACKAGE_CACHE_ROOT": "/elsewhere"}
    assert "JSII_RUNTIME_PACKAGE_CACHE" not in module._environment(ROOT, {}, tmp_path, chosen)
