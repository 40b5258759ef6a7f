"""A machine that cannot run nodes is recognised, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.ops.fakes import Screen
from unbroken.ops.rehearse import capability, run
from unbroken.ops.rehearse.options import Options


def v1(tmp_path: Path) -> Path:
    (tmp_path / "freezer").mkdir()
    return tmp_path


def fine(argv: list[str]) -> str:
    assert argv[0] == "unshare"
    return ""


def test_root_with_namespaces_and_cgroup_v1_gets_the_whole(tmp_path: Path) -> None:
    found = capability.probe(system="Linux", uid=0, which=str, run=fine, cgroup=v1(tmp_path))
    assert found.full


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"system": "Darwin"}, "this is Darwin"),
        ({"uid": 1000}, "not root"),
        ({"which": lambda name: None if name == "ip" else name}, "ip is not installed"),
        ({"run": lambda argv: "Operation not permitted"}, "namespaces cannot be made here: Operation not"),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, object], reason: str, tmp_path: Path) -> None:
    machine: dict[str, object] = {"system": "Linux", "uid": 0, "which": str, "run": fine}
    found = capability.probe(**{**machine, "cgroup": v1(tmp_path), **changes})  # type: ignore[arg-type]
    assert not found.full
    assert reason in found.missing[0]


def test_cgroup_v2_is_untried(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").touch()
    found = capability.probe(system="Linux", uid=0, which=str, run=fine, cgroup=tmp_path)
    assert "v2" in found.missing[0]


def test_no_cgroups_at_all(tmp_path: Path) -> None:
    assert capability.cgroup_kind(tmp_path) == "none"


def test_a_reduced_rehearsal_says_first_what_it_lacks_and_how_to_get_it() -> None:
    screen = Screen()
    assert not run._capability(Options(Path("cluster.yaml"), reduced=True), screen)
    kinds = [line.partition(":")[0].strip() for line in screen.lines]
    assert kinds == ["This rehearsal is reduced", *["left out"] * 2, *["for the whole"] * 3]
    assert any("systemd.unified_cgroup_hierarchy=0" in line for line in screen.lines)
