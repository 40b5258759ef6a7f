"""Exports of a cluster file, and the embedded AWS to deploy them to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from unbroken.ops.export.cloudformation import export
from unbroken.rehearsal.aws import environment

if TYPE_CHECKING:
    from unbroken.rehearsal.composition import Rehearsal

REGION = "us-west-2"
IMPATIENT = Path(__file__).resolve().parent / "impatient"
CLUSTER = """
name: exported
worker_groups:
  - name: w
    instance_type: ml.c5.xlarge
    num_instances: 1
tags:
  team: "research + development"
termination_protection: true
storage:
  deletion: delete
"""

Bash = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a small cluster that keeps nothing."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    export(str(folder / "cluster.yaml"), folder / "out")
    return folder / "out"


@pytest.fixture
def client(rehearsal: Rehearsal) -> Callable[[str], Any]:
    """Clients of the embedded AWS."""
    return rehearsal.aws.clients.of


@pytest.fixture
def bash(rehearsal: Rehearsal) -> Bash:
    """Runs bash with the embedded AWS as its AWS; programs in ``first`` come before others."""

    def run(*command: str, first: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = environment.client(rehearsal.aws.port, REGION, os.environ)
        env |= {"PYTHONPATH": str(IMPATIENT), "PYTHONWARNINGS": "ignore"}
        if first:
            env["PATH"] = f"{first}{os.pathsep}{env['PATH']}"
        return subprocess.run(
            ["bash", *command], env=env, capture_output=True, text=True, timeout=180, check=False
        )

    return run
