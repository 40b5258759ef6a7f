"""The whole rehearsal as a user runs it: deploy, train, lose a node, recover, destroy; nothing stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LIMIT_SECONDS = 580


def rehearse(tmp_path: Path, *words: str) -> dict[str, Any]:
    """report.json of a short rehearsal with its own folders; its last words if it fails."""
    state = tmp_path / "state"
    argv = [sys.executable, "-c", "from unbroken.cli.main import run; run()", "rehearse", "--short", "--json"]
    done = subprocess.run(
        [*argv, "--out", str(tmp_path / "out"), *words],
        env={**os.environ, "UNBROKEN_STATE": str(state)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert list(state.iterdir()) == []
    report: dict[str, Any] = json.loads(done.stdout)
    assert report == json.loads((tmp_path / "out" / "report.json").read_text())
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    return report


@pytest.mark.nodes
@pytest.mark.parametrize(("fault", "action"), [("first-node", ""), ("worker", "RETRYSTEP")])
def test_a_lost_node_is_replaced_and_training_goes_on(fault: str, action: str, tmp_path: Path) -> None:
    report = rehearse(tmp_path, "--fault", fault)
    assert (report["verdict"], report["mode"], report["leftovers"]) == ("passed", "full", [])
    (recovery,) = report["recovery"]
    assert recovery["same_job_id"] is True
    assert recovery["steps_lost"] >= 2
    assert recovery["detected_s"] <= recovery["marked_s"] <= recovery["replaced_s"]
    assert recovery["resume_action"] == action
    assert report["loss"]["matches_undisturbed"] is True
    assert report["loss"]["compared_steps"] == recovery["steps_lost"]


def test_reduced_it_passes_too_and_says_so(tmp_path: Path) -> None:
    report = rehearse(tmp_path, "--reduced")
    assert report["headline"] == "Rehearsal passed, reduced"
    assert report["reality"]["left_out"]
    assert report["recovery"][0]["resumed_s"] > 0
    assert report["loss"]["matches_undisturbed"] is True
