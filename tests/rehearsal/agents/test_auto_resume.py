"""The helper: its lines, its news, its view of the job, its attempts."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from auto_resume import main as helper_main
from auto_resume import step
from auto_resume.agent_client import Answer
from auto_resume.expansion import Expansion
from auto_resume.main import Helper
from auto_resume.messages import Speaker
from auto_resume.notices import Listener, Notices, TaskExit
from auto_resume.slurm_job import SlurmJob, node_aliases, parse_settings, without_job
from auto_resume.step import Children, Outcome, StepRunner
from slurm_commands import Result
from tests.rehearsal.agents.test_agent_parts import Commands

CONFIG = """Configuration data as of 2026-11-29T21:00:00
PrologFlags             = {flags}
SlurmctldHost[0]        = ip-10-0-128-10(10.0.128.10)
TaskPlugin              = {plugin}
TaskPluginParam         = (null type)
"""


# What it says


def test_lines_have_the_services_form() -> None:
    say = Speaker("42", "1")
    assert say.line("Info", "x") == "[Auto Resume] Info: JobID: 42 StepID: 1 x"
    assert say.line("Error", "x", "0") == "[Auto Resume] Error: JobID: 42 StepID: 1 TaskID: 0 x"


# What it hears


def test_late_news_of_an_older_step_does_not_count() -> None:
    news = Notices("5")
    news.begin()
    news.take("start 5 0\n")
    news.take("exit 5 0 1 9 a\n")
    assert news.failure == TaskExit("0", "1", 9, "a")
    news.begin()
    for line in ("exit 5 0 2 9 b", "exit 6 1 0 9 b", "start 5", "noise", "exit 5 1 x"):
        news.take(line)
    assert news.step is None
    news.take("exit 5 1 0 256 b\n")
    assert news.failure == TaskExit("1", "0", 256, "b")


def test_only_the_first_failure_of_a_step_is_kept() -> None:
    news = Notices("5")
    news.begin()
    news.take("exit 5 0 1 256 a\n")
    news.take("exit 5 0 0 9 b\n")
    assert news.failure is not None and news.failure.node == "a"


@pytest.mark.parametrize(("status", "code"), [(256, 1), (65280, 255), (9, 137), (139, 139)])
def test_a_raw_status_as_a_shell_has_it(status: int, code: int) -> None:
    assert TaskExit("0", "0", status, "a").exit_code == code


# What it asks Slurm


def test_settings_that_allow_it() -> None:
    settings = parse_settings(CONFIG.format(flags="(null)", plugin="task/none"))
    assert (settings.controller, settings.refusals) == ("10.0.128.10", [])


def test_settings_that_refuse_it() -> None:
    settings = parse_settings(CONFIG.format(flags="Alloc,Contain", plugin="task/cgroup,task/affinity"))
    assert settings.refusals == [
        "Configuration error: slurm.conf has TaskPlugin=task/cgroup,task/affinity. "
        "Only task/none is supported now",
        "Config unsupported : PrologFlags=Alloc",
    ]


def test_a_new_job_is_asked_for_without_the_old_ones_variables() -> None:
    env = {"SLURM_JOB_ID": "5", "SBATCH_NO_KILL": "", "SLURM_CONF": "/c", "HOME": "/h"}
    assert without_job(env) == {"SLURM_CONF": "/c", "HOME": "/h"}


def test_addresses_of_cloud_nodes() -> None:
    shown = "NodeName=a CPUs=2 NodeAddr=10.0.0.1 NodeHostName=a State=IDLE\nNodeName=b\n"
    assert node_aliases(shown) == "a:[10.0.0.1]:a"


# How it gives nodes back


class FakeChildren(Children):
    """salloc without Slurm: a shell that prints what salloc prints."""

    def __init__(self, says: str, code: int = 0) -> None:
        super().__init__()
        self.says, self.code = says, code
        self.asked: list[list[str]] = []

    # answers with a fake child
    def start(self, argv: Sequence[str], env: Mapping[str, str], *, read_errors: bool):  # type: ignore[no-untyped-def]
        self.asked.append(list(argv))
        script = f"printf '%s' '{self.says}' >&2; exit {self.code}"
        return super().start(["/bin/sh", "-c", script], env, read_errors=read_errors)


class Growing(Commands):
    """Slurm's answers about a job that lost node b and has it again once an extra job is merged."""

    def __init__(self, *, merges: bool = True) -> None:
        super().__init__(
            {
                "scontrol -o show job 5": "JobId=5 ExcNodeList=login-[1-2] NodeList=a",
                "scontrol show hostnames a": "a\n",
                "scontrol show hostnames a,c": "a\nc\n",
                "scontrol update JobId=6 NumNodes=0": Result(0) if merges else Result(1, err="no"),
                "scancel 6": "",
            }
        )
        self.merges = merges

    def __call__(self, argv: Sequence[str], **rest: object) -> Result:
        if list(argv[:1]) == ["squeue"]:
            grown = self.merges and any("NumNodes=0" in words for words in self.asked)
            return Result(0, "a,c\n" if grown else "a\n")
        return super().__call__(argv)


ENV = {"SLURM_JOB_ID": "5", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_PARTITION": "train", "PATH": "/bin"}
SALLOC = "salloc: Pending job allocation 6\nsalloc: job 6 queued and waiting for resources\n"


def test_an_extra_job_is_asked_for_and_merged(capfd: pytest.CaptureFixture[str]) -> None:
    env, commands, children = dict(ENV), Growing(), FakeChildren(SALLOC)
    assert Expansion(SlurmJob("5", commands), children, env).restore(("b",), Speaker("5"))
    assert env["SLURM_JOB_NODELIST"] == env["SLURM_NODELIST"] == "a,c"
    assert children.asked == [
        "salloc --no-shell --job-name=auto-res --nodes=1 --exclusive --partition=train "
        "--dependency=expand:5 --exclude=login-[1-2]".split()
    ]
    said = capfd.readouterr().err.splitlines()
    assert "srun: job 6 queued and waiting for resources" in said
    assert said[-1] == "[Auto Resume] Info: JobID: 5 StepID: 0 Updating to new node list a,c"


def test_a_merge_that_is_refused_ends_the_attempts(capfd: pytest.CaptureFixture[str]) -> None:
    children = FakeChildren(SALLOC)
    expansion = Expansion(SlurmJob("5", Growing(merges=False)), children, dict(ENV))
    assert not expansion.restore(("b",), Speaker("5"))
    assert len(children.asked) == 3
    assert "the job cannot be expanded: no" in capfd.readouterr().err


def test_an_allocation_that_is_refused_ends_the_attempts(capfd: pytest.CaptureFixture[str]) -> None:
    children = FakeChildren("salloc: error: Job submit/allocate failed", code=1)
    expansion = Expansion(SlurmJob("5", Growing(merges=False)), children, dict(ENV))
    assert not expansion.restore(("b",), Speaker("5"))
    assert "Job submit/allocate failed" in capfd.readouterr().err


# One step


@pytest.fixture
def srun(tmp_path: Path) -> Iterator[Callable[[str], tuple[StepRunner, dict[str, str]]]]:
    """A step runner whose srun is a shell script."""
    listener = Listener("127.0.0.1")

    def make(script: str) -> tuple[StepRunner, dict[str, str]]:
        path = tmp_path / "srun"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        commands = Commands({"scancel --signal=KILL 5.0": ""})
        runner = StepRunner("5", listener, Children(), commands)
        return runner, {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    yield make
    listener.close()


Make = Callable[[str], tuple[StepRunner, dict[str, str]]]
TELL = """exec 3<>/dev/tcp/${AUTO_RESUME_NOTIFY%:*}/${AUTO_RESUME_NOTIFY#*:}; echo "$1" >&3; exec 3>&-"""


def test_a_step_that_succeeds(srun: Make) -> None:
    runner, env = srun('[ "$*" = "-l true" ]')
    outcome = runner.execute(["-l", "true"], env)
    assert outcome == Outcome(0, None, None) and outcome.ok


def test_a_step_that_ends_by_a_signal(srun: Make) -> None:
    runner, env = srun("kill -9 $$")
    assert runner.execute([], env).code == 137


def test_a_failed_task_ends_the_step_at_once(srun: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "KILL_GRACE_SECONDS", 0.1)
    runner, env = srun(f"bash -c '{TELL}' tell 'exit 5 0 1 256 a'; exec sleep 60")
    outcome = runner.execute([], env)
    assert (outcome.code, outcome.step) == (1, "0")
    assert outcome.failure == TaskExit("0", "1", 256, "a")


def test_the_listener_survives_a_peer_that_says_nothing() -> None:
    listener = Listener("127.0.0.1")
    address, port = listener.where.split(":")
    socket.create_connection((address, int(port))).close()
    assert listener.receive(1.0) == ""
    assert listener.receive(0.01) is None
    listener.close()


# The loop


class Script:
    """Steps, agent and expansion with prepared answers."""

    def __init__(self, outcomes: list[Outcome], answers: list[Answer], *, restores: bool = True) -> None:
        self.outcomes, self.answers, self.restores = outcomes, answers, restores
        self.restored: list[tuple[str, ...]] = []

    def execute(self, arguments: Sequence[str], env: Mapping[str, str]) -> Outcome:
        return self.outcomes.pop(0)

    def diagnose(self, nodes: str) -> Answer:
        return self.answers.pop(0)

    def restore(self, unhealthy: tuple[str, ...], say: Speaker) -> bool:
        self.restored.append(unhealthy)
        return self.restores


def run_helper(script: Script, children: Children | None = None) -> int:
    env = {"SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "n[1-2]"}
    return Helper([], env, script, script, script, children or Children()).run()  # type: ignore[arg-type]  # fakes


FAILED = Outcome(1, "0", TaskExit("0", "1", 256, "b"))
LOST = Outcome(137, "1", None)
GOOD = Outcome(0, "2", None)
RETRY = Answer("RETRYSTEP", ("b",))


def test_attempts_are_counted_until_the_step_succeeds(capfd: pytest.CaptureFixture[str]) -> None:
    script = Script([FAILED, LOST, GOOD], [RETRY, RETRY])
    assert run_helper(script) == 0
    said = capfd.readouterr().err
    assert "StepID: 0 Retrying step. Attempt number: 1" in said
    assert "StepID: 1 Retrying step. Attempt number: 2" in said
    assert "[Auto Resume] Error: JobID: 5 StepID: 0 TaskID: 1 Task failed on node b" in said
    assert "StepID: 1 Successfully terminated the step since task exited with status: 35072" in said


def test_none_gives_the_tasks_own_code_back() -> None:
    assert run_helper(Script([FAILED], [Answer("NONE")])) == 1


def test_a_job_that_cannot_be_restored_fails() -> None:
    assert run_helper(Script([FAILED], [RETRY], restores=False)) == 1


def test_a_requeue_is_waited_for_and_not_acted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Speaker] = []
    monkeypatch.setattr(helper_main, "_await_requeue", waited.append)
    script = Script([FAILED], [Answer("RETRYSTEP", ("b",), requeue=True)])
    assert run_helper(script) == 1
    assert (len(waited), script.restored) == (1, [])


def test_a_person_who_ends_the_step_is_obeyed() -> None:
    children = Children()
    children.stopped_by = signal.SIGTERM
    assert run_helper(Script([Outcome(143, "0", None)], []), children) == 143
