"""The helper's loop: run the step; when it fails, ask the agent; retry, wait to be requeued, or give up."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping, Sequence

from auto_resume import messages
from auto_resume.agent_client import AgentClient, Answer
from auto_resume.expansion import Expansion
from auto_resume.messages import Speaker
from auto_resume.notices import Listener
from auto_resume.slurm_job import SlurmJob
from auto_resume.step import Children, Outcome, StepRunner
from slurm_commands import run

RETRYSTEP = "RETRYSTEP"
REQUEUE_TIMEOUT_SECONDS = 600.0


def main(arguments: Sequence[str]) -> int:
    """Run srun with these arguments until it succeeds or cannot be resumed; its exit status."""
    env = dict(os.environ)
    number = env["SLURM_JOB_ID"]
    job = SlurmJob(number, run)
    settings = job.settings()
    if settings.refusals or not settings.controller:
        return _run_plainly(arguments, env, Speaker(number), settings.refusals)
    children = Children()
    children.install()
    listener = Listener(_own_address(settings.controller))
    agent = AgentClient(settings.controller, number)
    agent.attach()
    steps = StepRunner(number, listener, children, run)
    return Helper(arguments, env, steps, agent, Expansion(job, children, env), children).run()


class Helper:
    """The loop over attempts."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: MutableMapping[str, str],
        steps: StepRunner,
        agent: AgentClient,
        expansion: Expansion,
        children: Children,
    ) -> None:
        self._arguments, self._env, self._steps = arguments, env, steps
        self._agent, self._expansion, self._children = agent, expansion, children
        self._job = env["SLURM_JOB_ID"]

    def run(self) -> int:
        """The exit status of the last attempt."""
        attempt = 0
        while True:
            outcome = self._steps.execute(self._arguments, self._env)
            if outcome.ok or self._children.stopped_by is not None:
                return outcome.code
            say = Speaker(self._job, outcome.step or "0")
            if not self._recovered(outcome, say):
                return outcome.code or 1
            attempt += 1
            say.info(messages.RETRYING.format(attempt=attempt))

    def _recovered(self, outcome: Outcome, say: Speaker) -> bool:
        _tell(outcome, say)
        say.info(messages.DIAGNOSING)
        answer = self._agent.diagnose(self._env["SLURM_JOB_NODELIST"])
        say.info(messages.RESPONSE.format(job=self._job, action=answer.action))
        if answer.action != RETRYSTEP:
            return False
        if answer.requeue:
            _await_requeue(say)
            return False
        return self._restored(answer, say)

    def _restored(self, answer: Answer, say: Speaker) -> bool:
        return self._expansion.restore(answer.unhealthy, say)


def _tell(outcome: Outcome, say: Speaker) -> None:
    """A task that died with its node told nobody; then there is only srun's own exit code."""
    failure = outcome.failure
    if failure is None:
        say.info(messages.TERMINATED.format(status=outcome.code << 8))
        return
    say.error(messages.TASK_FAILED.format(node=failure.node), failure.task)
    say.info(messages.TERMINATED.format(status=failure.status), failure.task)


def _await_requeue(say: Speaker) -> None:
    """The agent requeues the whole job, which ends this process."""
    say.info(messages.REPLACING)
    deadline = time.monotonic() + REQUEUE_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        time.sleep(1)


def _run_plainly(
    arguments: Sequence[str], env: MutableMapping[str, str], say: Speaker, refusals: Sequence[str]
) -> int:
    """Where the configuration refuses, the step runs without being resumed; does not return."""
    for refusal in refusals:
        say.error(refusal)
    say.error(messages.REFUSED)
    # no shell: srun takes the place of this program
    os.execvpe("srun", ["srun", *arguments], {**env, "AUTO_RESUME_NOTIFY": "off"})  # noqa: S606


def _own_address(controller: str) -> str:
    """The address this node talks to the controller from; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((controller, 4001))
        return str(probe.getsockname()[0])
