"""The rendered batch script, run by bash with a Slurm of two programs: a failed start, then a real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from tests.training.conftest import write_job

ROOT = Path(__file__).parents[2]

# Both refuse whatever they do not know. srun fails the first time, as after ResumeAction=NONE, and a node is
# exchanged then: w1, where the ranks would have met, is replaced by w3.
SRUN = """#!{python}
import os, pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
if sys.argv[1:3] != ["-l", "--kill-on-bad-exit=1"]:
    sys.exit(f"srun: unknown {{sys.argv}}")
started = here / "started"
if not started.exists():
    started.touch()
    (here / "nodes").write_text("w2,w3")
    sys.exit(137)
tasks = [
    subprocess.Popen(sys.argv[3:], env=os.environ | {{"SLURMD_NODENAME": name, "SLURM_STEP_ID": "1"}})
    for name in ("w2", "w3")
]
sys.exit(max(task.wait() for task in tasks))
"""
SCONTROL = """#!{python}
import pathlib, sys
match sys.argv[1:]:
    case ["show", "job", "-o", "42"]:
        print("JobId=42 NodeList=" + (pathlib.Path(__file__).parent / "nodes").read_text())
    case ["show", "hostnames", nodes]:
        print(nodes.replace(",", "\\n"))
    case ["show", "node", "-o", "w2"]:
        print("NodeName=w2 NodeAddr=127.0.0.1")
    case unknown:
        sys.exit(f"scontrol: unknown {{unknown}}")
"""


def render(directory: Path, **changes: object) -> str:
    """The batch script of a job directory."""
    environment = jinja2.Environment(  # noqa: S701 - bash, not HTML
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    job = {
        "name": "test",
        "partition": "dev",
        "num_nodes": 2,
        "gpus_per_node": 1,
        "directory": directory,
        "code_directory": ROOT,
        "python": sys.executable,
        "warning_seconds": 180,
        "options": [],
        "environment": {"FI_PROVIDER": "efa", "FI_LOG_LEVEL": "1"},
    }
    text = (ROOT / "training" / "launch" / "job.sbatch.j2").read_text()
    return environment.from_string(text).render(job=job | changes)


def run(
    script: str, directory: Path, bin_directory: Path, *settings: str
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{bin_directory}:{os.environ['PATH']}", "SLURM_JOB_ID": "42", "SLURM_NTASKS": "2"}
    command = ["bash", "-c", script, "job.sbatch", *settings]
    return subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, timeout=150, check=False
    )


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    """A directory with a fake srun and scontrol."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "nodes").write_text("w1,w2")
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (directory / name).write_text(text.format(python=sys.executable))
        (directory / name).chmod(0o755)
    return directory


def test_a_job_whose_first_node_was_lost_trains_to_the_end(tmp_path: Path, slurm: Path) -> None:
    directory = write_job(tmp_path / "job", num_steps=4)
    done = run(render(directory), directory, slurm)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the step ended with exit code 137" in done.stderr
    assert "task: node 0 of 2, meeting at 127.0.0.1:" in done.stdout
    state = json.loads((directory / "run" / "run_state.json").read_text())
    assert (state["status"], state["step"], state["job_id"]) == ("done", 4, "42")


def test_settings_of_the_submission_go_over_those_of_the_job_file(tmp_path: Path, slurm: Path) -> None:
    """On every start, as Slurm keeps the script's arguments; and in what is looked at before."""
    directory = write_job(tmp_path / "job", num_steps=4, dataset="/not/there")
    done = run(render(directory), directory, slurm, "num_steps=2", "dataset=shipped", "lr_schedule=linear")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the step ended with exit code 137" in done.stderr and "Data: " in done.stdout
    state = json.loads((directory / "run" / "run_state.json").read_text())
    assert (state["status"], state["step"]) == ("done", 2)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("num_step=2", "command line: num_step: not a setting of a job\n  hint: did you mean num_steps?"),
        ("num_steps=two", "command line: num_steps: "),
        ("--num_steps=2", "unrecognized arguments: --num_steps=2"),
    ],
)
def test_a_wrong_setting_of_the_submission_starts_nothing(
    setting: str, said: str, tmp_path: Path, slurm: Path
) -> None:
    directory = write_job(tmp_path / "job", num_steps=4)
    done = run(render(directory), directory, slurm, setting)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr
    assert not (directory / "run").exists() and not (slurm / "started").exists()


def test_a_missing_code_folder_is_one_sentence(tmp_path: Path, slurm: Path) -> None:
    done = run(render(tmp_path, code_directory="/nowhere/code"), tmp_path, slurm)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "job.sbatch: /nowhere/code is not there; is the shared file system mounted?\n"


def test_a_missing_interpreter_is_one_sentence(tmp_path: Path, slurm: Path) -> None:
    done = run(render(tmp_path, python="/nowhere/env/bin/python3"), tmp_path, slurm)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("job.sbatch: /nowhere/env/bin/python3 is not there; see ")


def test_a_job_keeps_the_environment_it_started_from(tmp_path: Path, slurm: Path) -> None:
    (tmp_path / "env-1" / "bin").mkdir(parents=True)
    (tmp_path / "env").symlink_to("env-1")
    python = tmp_path / "env-1" / "bin" / "python3"
    python.write_text('#!/bin/sh\necho "$0"\n')
    python.chmod(0o755)
    done = run(render(tmp_path, python=str(tmp_path / "env" / "bin" / "python3")), tmp_path, slurm)
    assert (done.returncode, done.stdout) == (0, f"{python}\n")


def test_the_header_asks_slurm_for_what_a_restart_needs(tmp_path: Path) -> None:
    header = [line for line in render(tmp_path).splitlines() if line.startswith("#SBATCH")]
    for option in (
        "--requeue",
        "--open-mode=append",
        "--exclusive",
        "--ntasks-per-node=1",
        "--signal=B:USR1@180",
    ):
        assert f"#SBATCH {option}" in header
    assert "#SBATCH --nodes=2" in header
    assert f"#SBATCH --output={tmp_path}/%x-%j.log" in header
