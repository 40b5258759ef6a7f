"""The line that starts a step: auto-resume, containers, what may not be on it, what is looked at before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.training.conftest import write_job
from tests.training.test_checkpoint import small_checkpoint
from training import config, runstate
from training.checkpoint.manifest import CheckpointError
from training.launch import prepare, run, slurm, supervise
from training.launch.slurm import Container, LaunchError, mounts_for, refuse_frozen, srun_options
from training.runstate import RunState


def srun_knowing(*known: str, together: bool = True) -> object:
    """A fake srun: complains of options it does not know, as getopt does, or of two at once."""

    def run(command: Sequence[str]) -> str:
        assert command[0] == "srun" and command[-1] == "--help", command
        names = [word.partition("=")[0] for word in command[1:-1]]
        assert set(names) <= {
            "--auto-resume",
            "--container-image",
            "--container-mounts",
            "--container-workdir",
        }
        unknown = [name for name in names if name not in known]
        if not together and "--auto-resume" in names:
            unknown += [name for name in names if name.startswith("--container")]
        if unknown:
            return f"srun: unrecognized option '{unknown[0]}'\n"
        return "Usage: srun [OPTIONS...] executable [args...]\n"

    return run


CONTAINER = ("--container-image", "--container-mounts", "--container-workdir")
IMAGE = Container(image="/fsx/image.sqsh", mounts=("/fsx", "/a:/b"), directory=Path("/fsx/job"))


def not_asked(command: Sequence[str]) -> str:
    raise AssertionError(command)


def test_nothing_on_the_srun_line_names_a_node_or_a_port() -> None:
    assert srun_options(False, None, not_asked) == ["-l", "--kill-on-bad-exit=1"]
    assert srun_options(True, None, not_asked) == ["--auto-resume=1", "-l", "--kill-on-bad-exit=1"]


def test_a_container_and_auto_resume_where_srun_takes_both() -> None:
    options = srun_options(True, IMAGE, srun_knowing("--auto-resume", *CONTAINER))  # type: ignore[arg-type]
    assert options[0] == "--auto-resume=1"
    assert "--container-image=/fsx/image.sqsh" in options and "--container-mounts=/fsx:/fsx,/a:/b" in options
    assert "--container-workdir=/fsx/job" in options


@pytest.mark.parametrize(
    "srun", [srun_knowing(*CONTAINER), srun_knowing("--auto-resume", *CONTAINER, together=False)]
)
def test_auto_resume_is_left_out_where_srun_does_not_take_it_with_a_container(srun: object) -> None:
    options = srun_options(True, IMAGE, srun)  # type: ignore[arg-type]
    assert "--auto-resume=1" not in options and "--container-image=/fsx/image.sqsh" in options


def test_a_container_without_pyxis_is_refused() -> None:
    with pytest.raises(LaunchError, match="srun has no option --container-image"):
        srun_options(True, IMAGE, srun_knowing("--auto-resume"))  # type: ignore[arg-type]


def test_every_path_of_the_job_is_mounted_once(tmp_path: Path) -> None:
    job = write_job(
        tmp_path / "job",
        preset="mathstral-7b",
        dataset=str(tmp_path / "data" / "text"),
        weights="mistralai/Mathstral-7B-v0.1",
        checkpoint_directory=str(tmp_path / "job" / "checkpoints"),
        local_directory=str(tmp_path / "nvme" / "unbroken"),
        tokenizer=str(tmp_path / "data" / "tokenizer"),
    )
    for name in ("data/text", "data/tokenizer", "nvme"):
        (tmp_path / name).mkdir(parents=True)
    settings = config.load(job / "job.yaml")
    mounts = mounts_for([str(job), *supervise.paths_of(settings)], ["/more:/inside"])
    inside = [tmp_path / name for name in ("data/text", "data/tokenizer", "job", "nvme")]
    assert mounts == (*map(str, inside), "/more:/inside")


def test_a_path_below_another_is_mounted_with_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert mounts_for([str(tmp_path / "a" / "b"), str(tmp_path / "a")], []) == (str(tmp_path / "a"),)


@pytest.mark.parametrize(("paths", "more"), [(["./data"], []), (["~/data"], []), ([], ["data:/data"])])
def test_a_path_that_means_something_else_inside_is_refused(paths: list[str], more: list[str]) -> None:
    with pytest.raises(LaunchError, match="a relative path means another folder inside a container"):
        mounts_for(paths, more)


def test_a_path_that_would_mount_everything_is_refused() -> None:
    with pytest.raises(LaunchError, match="cannot be mounted"):
        mounts_for(["/not-there/at/all"], [])


@pytest.mark.parametrize(
    "word", ["--master-addr=w1", "--master_addr", "--rdzv_endpoint=w1:29500", "--node-rank=0", "--standalone"]
)
def test_a_frozen_meeting_place_is_refused(word: str) -> None:
    with pytest.raises(LaunchError, match=f"{word}: is fixed when the job starts"):
        refuse_frozen(["torchrun", word, "train.py"])


def test_a_foreign_command_becomes_a_step_with_a_task_a_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{Path(slurm.__file__).parents[2]}:/their/modules")
    monkeypatch.setattr(slurm, "HYPERPOD_MARKER", tmp_path)
    options = run._parser().parse_args(["--ranks-per-node", "8", "--", "torchrun", "train.py"])
    command, left_out = run._command(options, ["torchrun", "train.py"], "42")
    task = [
        sys.executable,
        "-m",
        "training.launch.task",
        "--ranks-per-node",
        "8",
        "--",
        "torchrun",
        "train.py",
    ]
    assert command.argv == ["srun", "--auto-resume=1", "-l", "--kill-on-bad-exit=1", *task]
    assert not left_out and command.environment is not None
    assert command.environment["UNBROKEN_CALLERS_PYTHONPATH"] == "/their/modules"


def test_the_folder_of_a_job_that_cannot_be_written_to_inside_is_named(tmp_path: Path) -> None:
    command = slurm.task_command(sys.executable, 1, ["true"], [tmp_path / "nowhere"])
    environment = {"PYTHONPATH": str(Path(slurm.__file__).parents[2]), "PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{tmp_path}/nowhere cannot be written to here; is it mounted?" in done.stderr


def place(directory: Path) -> prepare.Place:
    return prepare.Place(directory / "job.yaml", 1, [sys.executable])


def test_a_job_whose_text_is_not_there_starts_no_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(slurm.__file__).parents[2]))
    directory = write_job(tmp_path, dataset="/not/there")
    with pytest.raises(LaunchError, match=r"training\.data\.check found that the job cannot run"):
        prepare.prepare(config.load(directory / "job.yaml"), place(directory))
    assert "/not/there" in capfd.readouterr().err


def test_a_job_that_has_saved_is_not_looked_at_again(tmp_path: Path) -> None:
    directory = write_job(tmp_path, dataset="/not/there")
    runstate.write_state(directory / "run", RunState(status="failed", step=4, checkpoint="step-00000004"))
    prepare.prepare(config.load(directory / "job.yaml"), place(directory))


def test_a_job_with_other_settings_than_its_checkpoints_starts_no_rank(tmp_path: Path) -> None:
    directory = write_job(tmp_path, seed=2)
    job = config.load(directory / "job.yaml")
    for step, seed in ((4, 2), (8, 1)):
        small_checkpoint(directory / "checkpoints", step, {**job.shared(), "seed": seed})
    with pytest.raises(CheckpointError, match="step-00000008: made with other settings: seed was 1 and is 2"):
        prepare.prepare(job, place(directory))


def test_what_is_run_before_the_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are not there are fetched, by one process, before memory and data are looked at."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    monkeypatch.setattr(slurm, "ask", lambda command: "NVIDIA H100 NVL, 95830\n" * 8)
    started: list[list[str]] = []

    def fake(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        started.append(command[2:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", fake)
    changes = {"preset": "mathstral-7b", "device": "auto", "weights_revision": "abc"}
    directory = write_job(tmp_path / "job", **changes)
    prepare.prepare(config.load(directory / "job.yaml"), prepare.Place(directory / "job.yaml", 8, ["python"]))
    assert [words[0] for words in started] == [
        "training.model.published",
        "training.plan",
        "training.data.check",
    ]
    assert started[0][1:] == ["mistralai/Mathstral-7B-v0.1", "--revision", "abc"]
    assert started[1][3:7] == ["--world", "32", "--gpus-per-node", "8"]
    assert started[1][-4:] == ["--gpu", "H100-NVL", "--gpu-memory", "94"]


def test_a_plan_that_does_not_fit_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slurm, "ask", hangs)
    monkeypatch.setattr(prepare.Place, "run", lambda self, module, *arguments: module != "training.plan")
    directory = write_job(tmp_path, device="auto")
    prepare.prepare(config.load(directory / "job.yaml"), place(directory))
    assert "by its plan the job does not fit; it is started all the same" in capsys.readouterr().err


def hangs(command: Sequence[str]) -> str:
    raise LaunchError(f"{command[0]}: no answer in 60 s")


def test_groups_that_do_not_fill_the_ranks_start_none(tmp_path: Path) -> None:
    directory = write_job(tmp_path, sharding="hybrid", shard_group_size=2)
    with pytest.raises(config.JobConfigError, match="groups of 2 do not fill 1 ranks evenly"):
        prepare.prepare(config.load(directory / "job.yaml"), place(directory))


def test_a_command_that_hangs_or_is_missing_is_an_error_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "_ASK_SECONDS", 0.1)
    with pytest.raises(LaunchError, match=r"sleep: no answer in 0\.1 s"):
        slurm.ask(["sleep", "60"])
    with pytest.raises(LaunchError, match="nvidia-smi-of-none: No such file or directory"):
        slurm.ask(["nvidia-smi-of-none"])
