"""A machine that cannot run nodes is recognised, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.ops.fakes import Screen
from unbroken.ops.rehearse import capability, run
from unbroken.ops.rehearse.options import Options


def fine(argv: list[str]) -> str:
    assert argv[0] == "unshare"
    return ""


def never() -> str:
    raise AssertionError("no node is to be tried where something else is missing")


MACHINE: dict[str, Any] = {
    "system": "Linux",
    "uid": 0,
    "which": str,
    "run": fine,
    "cgroup": lambda: "v1",
    "asked_for_v2": False,
    "boot": lambda: "",
}


def test_root_on_a_machine_where_a_node_boots_gets_the_whole() -> None:
    assert capability.probe(**MACHINE) == capability.Capability()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"system": "Darwin"}, "this is Darwin"),
        ({"uid": 1000}, "not root"),
        ({"which": lambda name: None if name == "ip" else name}, "ip is not installed"),
        ({"run": lambda argv: "Operation not permitted"}, "namespaces cannot be made here: Operation not"),
        ({"cgroup": lambda: "none"}, "cgroups are not mounted"),
        ({"cgroup": lambda: "v2"}, "cgroup v2 only"),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, Any], reason: str) -> None:
    found = capability.probe(**{**MACHINE, "boot": never, **changes})
    assert not found.full
    assert reason in found.missing[0]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_node_that_does_not_boot_is_the_reason(version: str) -> None:
    changes = {"cgroup": lambda: version, "asked_for_v2": True, "boot": lambda: "no systemd"}
    found = capability.probe(**{**MACHINE, **changes})
    assert found.missing == (f"a node does not boot here, with cgroup {version}: no systemd",)
    assert not found.warnings


def test_cgroup_v2_is_tried_where_asked_for_and_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = capability.probe(**{**MACHINE, "cgroup": lambda: "v2", "asked_for_v2": True})
    assert found.full
    assert len(found.warnings) == 1
    screen = Screen()
    monkeypatch.setattr(capability, "probe", lambda: found)
    assert run._capability(Options(Path("cluster.yaml")), screen)
    assert len(screen.lines) == 1
    assert "--reduced is the way out" in screen.lines[0]


def test_a_reduced_rehearsal_says_first_what_it_lacks_and_how_to_get_it() -> None:
    screen = Screen()
    assert not run._capability(Options(Path("cluster.yaml"), reduced=True), screen)
    kinds = [line.partition(":")[0].strip() for line in screen.lines]
    assert kinds == ["This rehearsal is reduced", *["left out"] * 2, *["for the whole"] * 3]
    assert any("systemd.unified_cgroup_hierarchy=0" in line for line in screen.lines)
