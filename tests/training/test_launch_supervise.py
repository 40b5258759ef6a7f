"""What the launchers make of what they are asked for: the step's line, who requeues, what ends a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.training.conftest import write_job
from training.launch import run, slurm, supervise, task
from training.launch.command import Command
from training.launch.foreign import ForeignStep
from training.launch.slurm import LaunchError
from training.launch.supervisor import Supervisor

Launch = Callable[..., Supervisor]
Ask = Callable[[Sequence[str]], str]
SOCKETS = "0: ip-10-0-1-7:4711:4711 [0] NCCL INFO Using network Socket"


def srun_that_takes_all(command: Sequence[str]) -> str:
    return "Usage: srun"


def srun_that_takes_one(command: Sequence[str]) -> str:
    """As on some images of HyperPod's: a container or auto-resume."""
    names = {word.partition("=")[0] for word in command}
    both = {"--auto-resume", "--container-image"} <= names
    return "srun: unrecognized option '--container-image'" if both else "Usage: srun"


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """Start either launcher on a node of HyperPod, and get what it would supervise."""
    made: list[Supervisor] = []
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(slurm, "HYPERPOD_MARKER", tmp_path)
    monkeypatch.setattr(supervise, "prepare", lambda job, place: None)

    def keep(supervisor: Supervisor) -> int:
        made.append(supervisor)
        return 0

    for module in (supervise, run):
        monkeypatch.setattr(module, "supervise", keep)
    write_job(tmp_path / "job")

    def start(
        module: object, *options: str, ask: Ask = srun_that_takes_all, marker: bool = True
    ) -> Supervisor:
        monkeypatch.setattr(slurm, "ask", ask)
        monkeypatch.setattr(slurm, "HYPERPOD_MARKER", tmp_path / ("" if marker else "nowhere"))
        if module is supervise:
            given = ["--config", str(tmp_path / "job" / "job.yaml"), "--ranks-per-node", "8", *options]
            assert supervise.main(given) == 0
        else:
            assert run.main([*options, "--progress", r"(\d+)", "--", "torchrun", "train.py"]) == 0
        return made[-1]

    return start


def line(supervisor: Supervisor) -> list[str]:
    """What is started."""
    return list(command(supervisor).argv)


def command(supervisor: Supervisor) -> Command:
    step = supervisor.step
    found = step.command if isinstance(step, ForeignStep) else step
    assert isinstance(found, Command)
    return found


@pytest.mark.parametrize("module", [supervise, run])
def test_on_hyperpod_a_step_has_auto_resume_and_is_not_requeued_by_us(module: object, launch: Launch) -> None:
    made = launch(module)
    assert line(made)[:2] == ["srun", "--auto-resume=1"]
    assert (made.job_id, made.restart_count, made.requeue_on_machine_fault) == ("42", 2, False)


@pytest.mark.parametrize("module", [supervise, run])
@pytest.mark.parametrize("options", [(), ("--no-auto-resume",)])
def test_elsewhere_or_unwanted_it_has_none(module: object, options: tuple[str, ...], launch: Launch) -> None:
    made = launch(module, *options, marker=bool(options))
    assert "--auto-resume=1" not in line(made) and not made.requeue_on_machine_fault


@pytest.mark.parametrize("module", [supervise, run])
def test_where_a_container_excludes_it_the_launcher_requeues(module: object, launch: Launch) -> None:
    made = launch(module, "--container-image", "torch.sqsh", ask=srun_that_takes_one)
    assert "--auto-resume=1" not in line(made) and "--container-image=torch.sqsh" in line(made)
    assert made.requeue_on_machine_fault


def test_what_is_looked_at_is_the_job_as_submitted(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, list[str]]] = []
    monkeypatch.setattr(
        supervise, "prepare", lambda job, place: seen.append((job.num_steps, list(place.overrides)))
    )
    made = launch(supervise, "num_steps=7")
    assert seen == [(7, ["num_steps=7"])] and line(made)[-1] == "num_steps=7"


def test_each_task_in_a_container_looks_for_the_job_directory(launch: Launch, tmp_path: Path) -> None:
    made = line(launch(supervise, "--container-image", "torch.sqsh"))
    assert f"--writable={tmp_path / 'job'}" in made
    assert not any(word.startswith("--writable") for word in line(launch(supervise)))


@pytest.mark.parametrize("wanted", [False, True])
def test_a_step_on_sockets_is_ended_only_if_that_is_wanted(
    wanted: bool, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FI_PROVIDER", "efa")
    step = command(launch(supervise, *(["--stop-on-sockets"] if wanted else [])))
    assert step.complaint() is None
    for reader in step.readers:
        reader.line(SOCKETS)
    assert bool(step.complaint()) is wanted


def test_a_foreign_command_that_names_its_meeting_place_is_refused() -> None:
    words = ["torchrun", "--rdzv-endpoint=node-1:29500", "train.py"]
    with pytest.raises(LaunchError, match="is fixed when the job starts"):
        run._command(run._parser().parse_args(["--", *words]), words, "42")


def test_a_task_has_the_callers_modules_and_not_ours() -> None:
    environment = {"PYTHONPATH": "/fsx/unbroken/current:/theirs", task.CALLERS_PYTHONPATH: "/theirs"}
    task.add_environment(environment, None)
    assert environment["PYTHONPATH"] == "/theirs" and task.CALLERS_PYTHONPATH not in environment


def test_a_rank_whose_peer_is_gone_does_not_wait_in_nccl_for_ever() -> None:
    """3: the process ends when a collective fails or is late, without cleaning up."""
    environment: dict[str, str] = {}
    task.add_environment(environment, None)
    assert environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "3"
