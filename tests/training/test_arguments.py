"""What the programs of a job share on their command lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.conftest import write_job
from training import local
from training.data import check, writer
from training.plan import __main__ as plan


@pytest.mark.parametrize("program", [local.main, check.main, writer.main, plan.main])
def test_settings_may_stand_between_options(
    program: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = write_job(tmp_path) / "job.yaml"
    assert program(["seed=x", "--config", str(job), "num_steps=y"]) == 2
    said = capsys.readouterr().err
    assert "command line: seed: 'x'" in said and "command line: num_steps: 'y'" in said
