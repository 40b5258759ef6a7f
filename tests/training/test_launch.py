"""The launcher without Slurm: its decisions, its command lines, and where the ranks meet."""

from __future__ import annotations

import errno
import fcntl
import functools
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.training import ranks, torchrun
from training import pretrain, runstate
from training.launch import lock, rendezvous, supervise, supervisor, task
from training.launch.budget import MAX_FAILURES, MAX_SAME_ERROR, Budget, after_failure
from training.launch.failures import blames_a_machine, error_in, fingerprint, in_one_line, is_from_a_peer
from training.launch.output import Errors
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


def test_torchrun_is_told_where_to_meet_and_restarts_nothing_itself() -> None:
    """By its own parser: what it would do with no word of this on its line."""
    environment = task.rendezvous_environment(Rendezvous(("w2", "w3"), 1, "10.0.0.2", 29_501), 8)
    told = ranks.call(torchrun.options, environment)
    assert told["nnodes"] == "2" and told["node_rank"] == 1 and told["nproc_per_node"] == "8"
    assert (told["master_addr"], told["master_port"]) == ("10.0.0.2", 29_501)
    assert told["max_restarts"] == 0 and told["shutdown_timeout"] >= 120
    assert "SIGUSR1" in told["signals_to_handle"]


@pytest.mark.parametrize("resolved", ["127.0.1.1", "10.0.0.9"])
def test_a_first_node_whose_name_is_loopback_is_asked_of_slurm(
    resolved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's installer writes such a line into /etc/hosts; other nodes would meet themselves there."""
    monkeypatch.setattr(socket, "gethostbyname", lambda name: resolved if name == "w2" else name)
    meant = "10.0.0.2" if resolved.startswith("127.") else resolved
    assert ask(ENVIRONMENT, "w2,w3,w4").address == meant


def test_a_first_node_that_is_loopback_everywhere_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "127.0.1.1")
    monkeypatch.setitem(ADDRESSES, "w2", "w2")
    with pytest.raises(RendezvousError, match=r"w2 resolves to 127.0.1.1, where no other node reaches it"):
        ask(ENVIRONMENT, "w2,w3,w4")


def test_a_name_that_nobody_can_resolve_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a node that has just been exchanged, of which Slurm too knows no more than its name."""
    answers = iter([None, None, None, "10.0.0.2"])

    def resolved(name: str) -> str:
        if found := next(answers):
            return found
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "gethostbyname", resolved)
    monkeypatch.setitem(ADDRESSES, "w2", "w2")
    assert ask(ENVIRONMENT, "w2,w3,w4").address == "10.0.0.2"
    monkeypatch.setattr(socket, "gethostbyname", no_name)
    with pytest.raises(RendezvousError, match=r"Slurm's address of w2, w2: Name or service not known"):
        ask(ENVIRONMENT, "w2,w3,w4")


def no_name(name: str) -> str:
    raise socket.gaierror(-2, "Name or service not known")


def no_scontrol(command: Sequence[str]) -> str:
    raise FileNotFoundError(command[0])


def test_in_a_container_the_steps_own_nodes_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "10.0.0.2")
    environment = ENVIRONMENT | {"SLURM_STEP_NODELIST": "w[2-4]"}
    found = resolve(environment, no_scontrol)
    assert (found.nodes, found.node_rank) == (("w2", "w3", "w4"), 0)


def test_in_a_container_a_list_of_another_time_is_refused() -> None:
    """A new node does not find itself in the list of a step that was retried."""
    clock, sleep, _slept = no_wait()
    environment = ENVIRONMENT | {"SLURM_STEP_NODELIST": "w[1-3]", "SLURMD_NODENAME": "w4"}
    with pytest.raises(RendezvousError, match="w4 is not among the job's nodes w1,w2,w3"):
        resolve(environment, no_scontrol, deadline_seconds=1, clock=clock, sleep=sleep)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("w1", ["w1"]),
        ("ip-10-0-1-[7,9-11],x", ["ip-10-0-1-7", "ip-10-0-1-9", "ip-10-0-1-10", "ip-10-0-1-11", "x"]),
        ("n[08-10]-a,m[1]", ["n08-a", "n09-a", "n10-a", "m1"]),
        ("", []),
    ],
)
def test_node_lists_are_read_without_scontrol(text: str, names: list[str]) -> None:
    assert rendezvous.expand(text) == names


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
        budget, decision = after_failure(budget, f"Error{'x' * number}", 0)
        decisions.append(decision)
    assert [decision.again for decision in decisions] == [True] * (MAX_FAILURES - 1) + [False]
    pauses = [decision.pause_seconds for decision in decisions[:-1]]
    assert pauses[0] == 0 < pauses[1] and pauses == sorted(pauses) and pauses[-1] <= 60


def test_a_machines_fault_is_given_more_than_a_bug() -> None:
    """An ECC error that comes back may be another GPU's; it still ends, when nothing is saved any more."""
    error = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"
    budget, decisions = Budget(), []
    for _ in range(MAX_FAILURES):
        budget, decision = after_failure(budget, error, 50)
        decisions.append((decision.again, decision.machine))
    assert decisions == [(True, True)] * (MAX_FAILURES - 1) + [(False, True)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ValueError: at 0x7f12ab step 41", "ValueError: at 0x7f99cd step 57", True),
        (
            "OSError: 10.0.0.3:29511 refused at 12:01:07.5",
            "OSError: 10.0.0.4:30001 refused at 12:09:59.1",
            True,
        ),
        ("ValueError: a", "ValueError: b", False),
        ("the step ended with exit code 1", "the step ended with exit code 137", False),
    ],
)
def test_errors_are_one_where_only_numbers_differ(one: str, other: str, same: bool) -> None:
    assert (fingerprint(one) == fingerprint(other)) is same


@pytest.mark.parametrize(
    ("error", "machine"),
    [
        ("RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO)", True),
        ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", True),
        ("OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/fsx/x'", True),
        ("a rank ended without a word", True),
        ("the step ended with exit code 137", True),
        ("the step ended with exit code 1", False),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", False),
        ("RuntimeError: CUDA error: device-side assert triggered", False),
        ("hang: no progress for 600 s at 41", False),
    ],
)
def test_who_is_to_blame(error: str, machine: bool) -> None:
    assert blames_a_machine(error) is machine


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("ValueError: x", "ValueError: x"),
        ("3: torch.OutOfMemoryError: CUDA out of memory", "torch.OutOfMemoryError: CUDA out of memory"),
        ("[rank0]: KeyError: 'a'", "KeyError: 'a'"),
        ("  raise ValueError(x)", None),
        ("step 3 Error rate: 0.1", None),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_the_end_of_a_traceback_is_found_in_a_log(line: str, error: str | None) -> None:
    assert error_in(line) == error


def test_only_progress_refills_the_budget() -> None:
    budget = Budget()
    for step in range(10, 200, 10):
        budget, decision = after_failure(budget, "the step ended with exit code 137", step)
        assert decision.again
    assert budget.num_failures == 1
    for number, step in enumerate((20, 190, 0, 180), 2):
        budget, _decision = after_failure(budget, f"Error{'x' * number}", step)
        assert budget.num_failures == number, "an older step is no progress, nor is the same one"


@dataclass
class FakeStep:
    """A step that leaves behind what each attempt is told to; raises when started too often."""

    run_directory: Path
    outcomes: list[tuple[int, RunState | None, str]]
    starts: int = 0
    stops: int = 0
    ends: int = 0
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

    def end(self) -> None:
        self.ends += 1


DONE = RunState(status="done", step=100)
DIED = (1, RunState(status="running", step=10), "")


def boss_of(
    directory: Path, *outcomes: tuple[int, RunState | None, str], **changes: Any
) -> supervisor.Supervisor:
    step = FakeStep(directory, list(outcomes))
    return supervisor.Supervisor(directory, step, pause=lambda seconds: None, **changes)


def test_a_lost_rank_is_started_again_and_the_job_ends_well(tmp_path: Path) -> None:
    assert boss_of(tmp_path, DIED, (0, DONE, "")).run() == 0
    assert json.loads((tmp_path / "launcher.json").read_text())["best_step"] == 10


def test_the_same_bug_three_times_ends_the_job_with_the_error_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = (1, RunState(status="failed", step=10), "ValueError: shapes")
    assert boss_of(tmp_path, bug, bug, bug).run() == 1
    said = capsys.readouterr().err
    assert said.count("error: ValueError: shapes") == 1
    assert "given up at saved step 10: the same error came 3 times without progress" in said


def test_a_requeue_does_not_refill_the_budget(tmp_path: Path) -> None:
    bug = (1, RunState(status="failed", step=10), "ValueError: shapes")
    assert boss_of(tmp_path, bug, bug, bug, job_id="42").run() == 1
    assert boss_of(tmp_path, bug, job_id="42").run() == 1


@pytest.mark.parametrize(("first", "second"), [("42", "43"), ("", "")])
def test_a_new_submission_has_a_new_budget(first: str, second: str, tmp_path: Path) -> None:
    bug = (1, RunState(status="failed", step=10), "ValueError: shapes")
    assert boss_of(tmp_path, bug, bug, bug, job_id=first).run() == 1
    assert boss_of(tmp_path, bug, bug, (0, DONE, ""), job_id=second).run() == 0


def test_what_no_start_can_change_ends_the_job_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boss = boss_of(tmp_path, (1, None, ""))
    wrong = "SinkError: mlflow_tracking_uri needs the package mlflow, which is missing"
    step = boss.step
    assert isinstance(step, FakeStep)
    step.on_start = lambda: runstate.write_failure(tmp_path, 3, wrong, final=True)
    assert (boss.run(), step.starts) == (2, 1)
    assert capsys.readouterr().err == f"launcher: cannot run the job: {wrong}\n"
    assert (runstate.read_state(tmp_path).status, runstate.read_state(tmp_path).reason) == ("failed", wrong)


NCCL = (
    "DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled system error, NCCL version 2.29.7 "
    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error."
)


def test_nccls_own_error_counts_where_no_rank_has_another(tmp_path: Path) -> None:
    runstate.write_failure(tmp_path, 0, "RuntimeError: Connection closed by peer", from_a_peer=True)
    assert runstate.first_failure(tmp_path) is None
    runstate.write_failure(tmp_path, 1, NCCL)
    assert runstate.first_failure(tmp_path) == NCCL and blames_a_machine(NCCL)
    runstate.write_failure(tmp_path, 2, "ValueError: shapes")
    assert runstate.first_failure(tmp_path) == "ValueError: shapes", "though it came later"


def test_nccls_error_is_kept_without_torchs_own_stack() -> None:
    first, second = NCCL[len("DistBackendError: ") :].split(" ncclSystemError")
    text = f"{first}\nncclSystemError{second}\nException raised from create at x.cpp:1\n#4 c10::Error"
    assert in_one_line(type("DistBackendError", (RuntimeError,), {})(text)) == NCCL
    assert in_one_line(ValueError("shapes\nof many")) == "ValueError: shapes"


def test_nccls_own_words_are_in_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = type("DistBackendError", (RuntimeError,), {})("NCCL error in: x.cpp:1\nLast error:\nno fabric")
    attempt = SimpleNamespace(rank=3, run_directory=tmp_path, note=lambda **changes: None)
    pretrain._record_failure(attempt, error)  # type: ignore[arg-type]  # only what is asked of it
    assert "Last error:\nno fabric" in capsys.readouterr().err
    assert (
        runstate.first_failure(tmp_path) == "DistBackendError: NCCL error in: x.cpp:1 Last error: no fabric"
    )


@pytest.mark.parametrize(
    ("error", "followed"),
    [
        (NCCL, False),
        ("DistBackendError: NCCL error in: x, remote process exited or there was a network error", True),
        ("DistBackendError: NCCL communicator was aborted on rank 1.", True),
        ("RuntimeError: [pair.cc:534] Connection closed by peer [127.0.0.1]:4711", True),
        ("ValueError: shapes", False),
    ],
)
def test_a_lost_peer_is_told_from_an_error_of_ones_own(error: str, followed: bool) -> None:
    assert is_from_a_peer(error) is followed


@pytest.mark.parametrize("turned", [False, True])
def test_a_foreign_commands_cause_is_the_error_that_says_most(turned: bool) -> None:
    lines = ["[rank1]: " + NCCL, "[rank0]: ValueError: shapes", "[rank2]: KeyError: 'x'"]
    errors = Errors()
    for line in ["[rank3]: torch.distributed.DistNetworkError: gone", *(lines[1::-1] if turned else lines)]:
        errors.line(line)
    assert errors.first == "ValueError: shapes"


def test_the_end_of_an_earlier_job_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    runstate.write_state(tmp_path, replace(DONE, status="preempted"))
    never_came_up = (1, None, "")
    assert boss_of(tmp_path, never_came_up, (0, DONE, "")).run() == 0


def test_a_signal_stops_the_step_once_and_starts_no_other(tmp_path: Path) -> None:
    boss = boss_of(tmp_path, (1, RunState(status="preempted", step=7), ""))
    step = boss.step
    assert isinstance(step, FakeStep)

    def signalled_twice() -> None:
        boss.handle(signal.SIGTERM, None)
        boss.handle(signal.SIGTERM, None)

    step.on_start = signalled_twice
    assert boss.run() == 3
    assert (step.starts, step.stops, step.ends) == (1, 1, 0)


@pytest.mark.parametrize(("second", "ends"), [(signal.SIGINT, 1), (signal.SIGTERM, 0)])
def test_a_second_ctrl_c_ends_the_ranks_and_another_signal_does_not(
    second: signal.Signals, ends: int, tmp_path: Path
) -> None:
    boss = boss_of(tmp_path, (137, RunState(status="running", step=7), ""))
    step = boss.step
    assert isinstance(step, FakeStep)

    def signalled() -> None:
        boss.handle(signal.SIGUSR1, None)
        boss.handle(second, None)

    step.on_start = signalled
    assert boss.run() == 1
    assert (step.stops, step.ends) == (1, ends)


def test_a_signal_is_heard_in_the_pause_between_two_attempts(tmp_path: Path) -> None:
    boss = boss_of(tmp_path, DIED)
    boss.pause = lambda seconds: boss.handle(signal.SIGTERM, None)
    assert boss.run() == 3
    assert isinstance(boss.step, FakeStep) and boss.step.starts == 1
    assert boss.wait(600), "and ends it"


def requeued(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands the supervisor starts, none of which runs."""
    started: list[list[str]] = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    return started


ECC = (1, RunState(status="running", step=10), "RuntimeError: uncorrectable ECC error encountered")


def test_without_auto_resume_a_machines_fault_queues_the_job_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = requeued(monkeypatch)
    assert boss_of(tmp_path, ECC, job_id="42", requeue_on_machine_fault=True).run() == 0
    assert started == [["scontrol", "requeue", "42"]]


def test_where_auto_resume_is_a_machines_fault_starts_the_step_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = requeued(monkeypatch)
    assert boss_of(tmp_path, ECC, (0, DONE, ""), job_id="42").run() == 0
    assert started == []


def test_a_bug_never_queues_the_job_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = requeued(monkeypatch)
    bug = (1, RunState(status="failed", step=10), "ValueError: shapes")
    assert boss_of(tmp_path, bug, bug, bug, job_id="42", requeue_on_machine_fault=True).run() == 1
    assert started == []


@pytest.mark.parametrize(
    ("state", "commands", "code"),
    [
        (RunState(status="preempted", step=7, stopped_by="time limit"), [["scontrol", "requeue", "42"]], 0),
        (RunState(status="preempted", step=7, stopped_by="stop_at"), [], 3),
        (RunState(status="preempted", step=7, stopped_by="signal"), [], 3),
    ],
)
def test_ranks_that_left_by_themselves_are_queued_again_only_for_the_time_limit(
    state: RunState, commands: list[list[str]], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = requeued(monkeypatch)
    assert boss_of(tmp_path, (1, state, ""), job_id="42").run() == code
    assert started == commands


def test_told_of_the_time_limit_the_job_is_queued_again_also_where_the_ranks_could_not_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = requeued(monkeypatch)
    for state in (RunState(status="preempted", step=7), RunState(status="running", step=8)):
        boss = boss_of(tmp_path, (1, state, ""), job_id="42")
        assert isinstance(boss.step, FakeStep)
        boss.step.on_start = functools.partial(boss.handle, signal.SIGUSR1, None)
        assert boss.run() == 0
    assert started == [["scontrol", "requeue", "42"]] * 2


def test_a_time_limit_too_short_for_a_checkpoint_does_not_queue_the_job_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started = requeued(monkeypatch)
    near = (1, RunState(status="preempted", step=0, stopped_by="time limit"), "")
    codes = [boss_of(tmp_path, near, job_id="42").run() for _ in range(MAX_SAME_ERROR)]
    assert codes == [0] * (MAX_SAME_ERROR - 1) + [1]
    assert len(started) == MAX_SAME_ERROR - 1
    assert "error: the time limit came before a new checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["run_state.json", "launcher.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"foo": 1}', '{"status": "done", "schema_version": 9}'])
def test_a_file_that_is_damaged_is_named_and_starts_nothing(
    name: str,
    content: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    (tmp_path / name).write_text(content)
    assert supervisor.supervise(boss_of(tmp_path, DIED)) == 2
    assert f"cannot run the job: {tmp_path}/{name}: " in capsys.readouterr().err


def test_a_second_launcher_in_a_run_directory_is_refused(tmp_path: Path) -> None:
    said: list[str] = []
    waits = iter([False, True])
    with lock.alone(tmp_path, 0.0, said.append, lambda seconds: True):
        with pytest.raises(lock.Busy, match=rf"another launcher is at work, process {os.getpid()} on "):
            with lock.alone(tmp_path, 0.0, said.append, lambda seconds: True):
                pass
        assert said == []
        with pytest.raises(lock.Busy):
            with lock.alone(tmp_path, 300.0, said.append, lambda seconds: next(waits)):
                pass
    assert len(said) == 1 and "waiting 300 s" in said[0]
    with lock.alone(tmp_path, 0.0, said.append, lambda seconds: True):
        pass


def test_where_nothing_can_be_locked_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Lustre client that was mounted without flock."""

    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    said: list[str] = []
    with lock.alone(tmp_path, 0.0, said.append, lambda seconds: True):
        assert "a second launcher would not be noticed" in said[0]


def test_a_job_that_slurm_queues_again_and_again_ends_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its launcher dies with the first node each time, so that nobody counts; the next one does."""
    for count in range(1, MAX_FAILURES):
        runstate.write_state(tmp_path, RunState(status="running", step=10, job_id="42"))
        assert boss_of(tmp_path, (0, DONE, ""), job_id="42", restart_count=count).run() == 0
    runstate.write_state(tmp_path, RunState(status="running", step=10, job_id="42"))
    boss = boss_of(tmp_path, (0, DONE, ""), job_id="42", restart_count=MAX_FAILURES)
    assert boss.run() == 1
    assert isinstance(boss.step, FakeStep) and boss.step.starts == 0
    assert "given up at saved step 10: 6 failures without progress" in capsys.readouterr().err


def test_the_end_of_another_job_is_no_failure_of_this_one(tmp_path: Path) -> None:
    for count, job_id in ((1, "41"), (0, "42")):
        runstate.write_state(tmp_path, RunState(status="running", step=10, job_id=job_id))
        assert boss_of(tmp_path, (0, DONE, ""), job_id="42", restart_count=count).run() == 0
    assert not (tmp_path / "launcher.json").exists()


def test_a_person_can_make_the_pauses_shorter(tmp_path: Path) -> None:
    paused: list[float] = []
    bugs = [(1, RunState(status="failed", step=10), f"Error{'x' * number}") for number in range(MAX_FAILURES)]
    boss = boss_of(tmp_path, *bugs, longest_pause_seconds=9.0)
    boss.pause = paused.append
    assert boss.run() == 1
    assert paused == [0.0, 8.0, 9.0, 9.0, 9.0]


def test_told_to_stop_by_term_the_job_is_not_queued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = requeued(monkeypatch)
    boss = boss_of(tmp_path, (1, RunState(status="preempted", step=7, stopped_by="signal"), ""), job_id="42")
    assert isinstance(boss.step, FakeStep)
    boss.step.on_start = functools.partial(boss.handle, signal.SIGTERM, None)
    assert boss.run() == 3 and started == []


def test_a_wrong_job_file_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")  # srun would not be found, with another exit
    (tmp_path / "job.yaml").write_text("checkpoint_evry: 5\nnum_steps: many\n")
    code = supervise.main(["--config", str(tmp_path / "job.yaml"), "--ranks-per-node", "8"])
    said = capsys.readouterr().err
    assert code == 2
    assert "did you mean checkpoint_every?" in said and "num_steps" in said
