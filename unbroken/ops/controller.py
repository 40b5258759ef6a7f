"""Commands on the cluster's controller: Slurm can be asked nowhere else."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence

from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse.cluster import SLURM
from unbroken.ops.target import Target

SECONDS = 30.0
_MARK = "unbroken-exit="
"""Session Manager tells no exit code, and sometimes nothing at all (observed); so the command says it."""
_DOCUMENT = "AWS-StartNonInteractiveCommand"

Run = Callable[..., subprocess.CompletedProcess[str]]


class Refused(CannotRun):
    """The script ran on the controller and failed; `said` is what it printed."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(f"the controller answered with exit code {code}: {said}")
        self.said = said


def on_controller(
    target: Target,
    config: ClusterConfig,
    script: str,
    run: Run = subprocess.run,
    seconds: float = SECONDS,
) -> str:
    """What a shell script prints there, with Slurm's commands on its PATH. CannotRun says why it could not.

    On AWS through Session Manager, which needs the AWS CLI and its plugin on this machine.
    """
    try:
        if target.nodes:
            done = target.nodes.shell(script, timeout=seconds)
            return _checked(done.returncode, done.stdout, done.stderr)
        if not target.real:
            raise CannotRun("the rehearsal is reduced: its nodes are on paper, and no Slurm runs")
        command = _over_ssm(target, config, script)
        done = run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env=dict(target.environment),
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"the controller did not answer within {seconds:.0f} s") from error
    except OSError as error:
        raise CannotRun(f"the controller could not be asked: {error}") from error
    return _said(done)


def _over_ssm(target: Target, config: ClusterConfig, script: str) -> Sequence[str]:
    group = config.controller_group.name
    cluster = target.aws.sagemaker.cluster(config.name)
    nodes = target.aws.sagemaker.nodes(config.name) if cluster else []
    running = [node for node in nodes if node.group == group and node.status == "Running"]
    if cluster is None or not running:
        raise CannotRun("no controller is running")
    inner = f"PATH={SLURM}:$PATH; {script}; echo {_MARK}$?"
    return [
        *("aws", "ssm", "start-session", "--region", target.region),
        *("--target", cluster.session_target(group, running[0].instance_id)),
        *("--document-name", _DOCUMENT),
        *("--parameters", json.dumps({"command": [f"sh -c {shlex.quote(inner)}"]})),
    ]


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """The script's own lines among the session's."""
    lines = done.stdout.splitlines()
    ends = [index for index, line in enumerate(lines) if line.startswith(_MARK)]
    if not ends:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["the session said nothing"]
        raise CannotRun(f"the controller could not be asked: {said[-1]}")
    own = [line for line in lines[: ends[-1]] if line.strip() and not line.startswith("Starting session")]
    return _checked(int(lines[ends[-1]].removeprefix(_MARK)), "\n".join(own), "")


def _checked(code: int, out: str, err: str) -> str:
    if code != 0:
        raise Refused(code, "\n".join(text.strip() for text in (out, err) if text.strip()))
    return out
