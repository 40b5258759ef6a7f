"""The launcher without Slurm: its decisions, its command lines, and where the ranks meet."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from training import runstate
from training.launch import rendezvous, supervise, task
from training.launch.budget import MAX_FAILURES, MAX_SAME_ERROR, Budget, after_failure
from training.launch.rendezvous import Rendezvous, RendezvousError, resolve
from training.runstate import RunState


@dataclass
class FakeSlurm:
    """Answers what scontrol is asked, in order of the job's node lists; raises on anything else."""

    node_lists: list[str]
    addresses: dict[str, str] = field(default_factory=dict)

    def __call__(self, command: Sequence[str]) -> str:
        match list(command):
            case ["scontrol", "show", "job", "-o", "42"]:
                now = self.node_lists.pop(0) if len(self.node_lists) > 1 else self.node_lists[0]
                return f"JobId=42 ReqNodeList=(null) ExcNodeList=(null) NodeList={now} BatchHost=x\n"
            case ["scontrol", "show", "hostnames", nodes]:
                return nodes.replace(",", "\n") + "\n"
            case ["scontrol", "show", "node", "-o", name]:
                return f"NodeName={name} NodeAddr={self.addresses[name]} NodeHostName={name}\n"
        raise AssertionError(f"unexpected command: {command}")


ENVIRONMENT = {
    "SLURM_JOB_ID": "42",
    "SLURM_STEP_ID": "0",
    "SLURMD_NODENAME": "w2",
    "SLURM_NTASKS": "3",
    # what the batch script saw before w1 was lost
    "SLURM_JOB_NODELIST": "w1,w2,w3",
}
ADDRESSES = {"w1": "10.0.0.1", "w2": "10.0.0.2", "w3": "10.0.0.3", "w4": "10.0.0.4"}


def no_wait() -> tuple[Callable[[], float], Callable[[float], None], list[float]]:
    """A clock that only sleeping moves."""
    slept: list[float] = []
    return (lambda: sum(slept)), slept.append, slept


def ask(environment: dict[str, str], *node_lists: str) -> Rendezvous:
    clock, sleep, _slept = no_wait()
    slurm = FakeSlurm(list(node_lists), ADDRESSES)
    return resolve(environment, slurm, deadline_seconds=5, clock=clock, sleep=sleep)


def test_the_first_node_of_now_is_the_meeting_place_when_node_0_was_lost() -> None:
    found = ask(ENVIRONMENT, "w2,w3,w4")
    assert (found.nodes, found.node_rank, found.address) == (("w2", "w3", "w4"), 0, "10.0.0.2")


def test_all_tasks_of_a_step_agree() -> None:
    found = [ask(ENVIRONMENT | {"SLURMD_NODENAME": name}, "w2,w3,w4") for name in ("w2", "w3", "w4")]
    assert [one.node_rank for one in found] == [0, 1, 2]
    assert len({(one.address, one.port) for one in found}) == 1


def test_each_attempt_has_a_port_of_its_own() -> None:
    ports = [
        ask(ENVIRONMENT | changed, "w1,w2,w3").port
        for changed in ({}, {"SLURM_STEP_ID": "1"}, {"SLURM_RESTART_COUNT": "1"})
    ]
    assert len(set(ports)) == 3
    assert all(29_500 <= port < 31_500 for port in ports)


def test_it_waits_while_the_nodes_are_being_exchanged() -> None:
    assert ask(ENVIRONMENT, "w2,w3", "w1,w3,w4", "w2,w3,w4").node_rank == 0


def test_a_timeout_names_what_it_waited_for() -> None:
    with pytest.raises(RendezvousError, match=r"waited 5 s for the nodes of job 42: the job has 2 nodes"):
        ask(ENVIRONMENT, "w2,w3")


def test_nothing_on_the_srun_line_names_a_node_or_a_port() -> None:
    plain = supervise.srun_command("job.yaml", 8, auto_resume=False)
    hyperpod = supervise.srun_command("job.yaml", 8, auto_resume=True)
    assert plain[:3] == ["srun", "-l", "--kill-on-bad-exit=1"]
    assert [word for word in hyperpod if word not in plain] == ["--auto-resume=1"]
    assert hyperpod[-4:] == ["--job-file", "job.yaml", "--ranks-per-node", "8"]


def test_torchrun_restarts_nothing_itself() -> None:
    found = Rendezvous(("w2", "w3"), 1, "10.0.0.2", 29_501)
    line = task.torchrun_command(found, "job.yaml", 8)
    for option in ("--nnodes=2", "--node-rank=1", "--nproc-per-node=8", "--max-restarts=0"):
        assert option in line
    assert "--master-addr=10.0.0.2" in line and "--master-port=29501" in line
    assert line[-4:] == ["-m", "training.pretrain", "--config", "job.yaml"]


def test_the_environment_given_by_the_batch_script_wins() -> None:
    environment = {"OMP_NUM_THREADS": "4"}
    task.add_environment(environment, "eth0")
    assert environment["OMP_NUM_THREADS"] == "4" and environment["GLOO_SOCKET_IFNAME"] == "eth0"


def test_the_interface_is_the_one_with_the_address_used() -> None:
    assert task.interface_towards("127.0.0.1") == "lo"


def test_run_command_says_what_failed() -> None:
    with pytest.raises(OSError, match="false: 1"):
        rendezvous.run_command(["false"])


def test_the_same_error_without_progress_is_given_up() -> None:
    budget, decisions = Budget(), []
    for _ in range(MAX_SAME_ERROR):
        budget, decision = after_failure(budget, "ValueError: x", 50)
        decisions.append(decision.again)
    assert decisions == [True] * (MAX_SAME_ERROR - 1) + [False]


def test_different_errors_without_progress_are_given_up_later_and_with_pauses() -> None:
    budget, decisions = Budget(), []
    for number in range(MAX_FAILURES):
        budget, decision = after_failure(budget, f"error {number}", 0)
        decisions.append(decision)
    assert [decision.again for decision in decisions] == [True] * (MAX_FAILURES - 1) + [False]
    pauses = [decision.pause_seconds for decision in decisions[:-1]]
    assert pauses[0] == 0 and pauses == sorted(pauses) and pauses[-1] <= 60


def test_only_progress_refills_the_budget() -> None:
    budget = Budget()
    for step in range(10, 200, 10):
        budget, decision = after_failure(budget, "the step ended with exit code 137", step)
        assert decision.again
    assert budget.num_failures == 1


@dataclass
class FakeStep:
    """A step that leaves behind what each attempt is told to; raises when started too often."""

    run_directory: Path
    outcomes: list[tuple[int, RunState | None, str]]
    starts: int = 0
    stops: int = 0
    on_start: Callable[[], None] = lambda: None

    def run(self) -> int:
        code, state, error = self.outcomes[self.starts]
        self.starts += 1
        self.on_start()
        if state is not None:
            runstate.write_state(self.run_directory, state)
        if error:
            runstate.write_failure(self.run_directory, 1, error, from_a_peer=False)
            runstate.write_failure(self.run_directory, 0, "RuntimeError: reset by peer", from_a_peer=True)
        return code

    def stop(self) -> None:
        self.stops += 1


DONE = RunState(status="done", step=100)
DIED = (1, RunState(status="running", step=10), "")


def supervisor(directory: Path, *outcomes: tuple[int, RunState | None, str]) -> supervise.Supervisor:
    return supervise.Supervisor(directory, FakeStep(directory, list(outcomes)), "", lambda seconds: None)


def test_a_lost_rank_is_started_again_and_the_job_ends_well(tmp_path: Path) -> None:
    assert supervisor(tmp_path, DIED, (0, DONE, "")).run() == 0
    assert json.loads((tmp_path / "launcher.json").read_text())["best_step"] == 10


def test_the_same_bug_three_times_ends_the_job_with_the_error_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = (1, RunState(status="failed", step=10), "ValueError: shapes")
    assert supervisor(tmp_path, bug, bug, bug).run() == 1
    said = capsys.readouterr().err
    assert said.count("error: ValueError: shapes") == 1
    assert "given up at saved step 10: the same error came 3 times without progress" in said


def test_a_requeue_does_not_refill_the_budget(tmp_path: Path) -> None:
    bug = (1, RunState(status="failed", step=10), "ValueError: shapes")
    assert supervisor(tmp_path, bug, bug, bug).run() == 1
    assert supervisor(tmp_path, bug).run() == 1


def test_the_end_of_an_earlier_job_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    runstate.write_state(tmp_path, replace(DONE, status="preempted"))
    never_came_up = (1, None, "")
    assert supervisor(tmp_path, never_came_up, (0, DONE, "")).run() == 0


def test_a_signal_stops_the_step_once_and_starts_no_other(tmp_path: Path) -> None:
    boss = supervisor(tmp_path, (1, RunState(status="preempted", step=7), ""))
    step = boss.step
    assert isinstance(step, FakeStep)

    def signalled_twice() -> None:
        boss.handle(signal.SIGTERM, None)
        boss.handle(signal.SIGTERM, None)

    step.on_start = signalled_twice
    assert boss.run() == 3
    assert (step.starts, step.stops) == (1, 1)


def test_a_wrong_job_file_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")  # srun would not be found, with another exit
    (tmp_path / "job.yaml").write_text("checkpoint_evry: 5\nnum_steps: many\n")
    code = supervise.main(["--job-file", str(tmp_path / "job.yaml"), "--ranks-per-node", "8"])
    said = capsys.readouterr().err
    assert code == 2
    assert "did you mean checkpoint_every?" in said and "num_steps" in said
