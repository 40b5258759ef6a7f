"""What the agent asks of Slurm, as methods over its commands; when to ask is ``recovery``'s part."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slurm_commands import Result, Runner

BIN = "/opt/slurm/bin/"
_GRES = re.compile(r"\bTresPer\w+=\S*gres")


@dataclass(frozen=True)
class NodeView:
    """A node as sinfo shows it: state in lower case with its flags (``fail*``), and the reason as set."""

    state: str
    reason: str


@dataclass(frozen=True)
class Job:
    """A job on some node."""

    id: int
    batch_host: str
    state: str = "RUNNING"
    gres: bool = False
    nodes: tuple[str, ...] = ()
    """The nodes it holds now."""


class Slurm:
    """Slurm's commands with a limit on each; one that fails says nothing rather than something wrong."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def nodes(self) -> dict[str, NodeView]:
        """Every node slurmctld shows; empty where it does not answer."""
        answer = self._run([BIN + "sinfo", "-h", "-a", "-N", "-o", "%N|%T|%E"], timeout=2.0)
        rows = [line.split("|", 2) for line in answer.out.splitlines()]
        return {row[0]: NodeView(row[1], row[2]) for row in rows if len(row) == 3}

    def slurmd_started(self, node: str) -> str:
        """When the node's slurmd started, in Slurm's words; empty where it is not known."""
        answer = self._command("scontrol", "-o", "show", "node", node)
        found = re.search(r"\bSlurmdStartTime=(\S+)", answer.out)
        return found.group(1) if found else ""

    def jobs_on(self, node: str) -> list[Job]:
        """Jobs that hold the node now."""
        answer = self._command("squeue", "-h", "-w", node, "-t", "R,CF", "-o", "%A|%B|%T|%N")
        return [self._job(line) for line in answer.out.splitlines()]

    def job(self, number: int) -> Job | None:
        """A job in the queue; None where it is gone."""
        answer = self._command("squeue", "-h", "-j", str(number), "-o", "%A|%B|%T|%N")
        return next((self._job(line) for line in answer.out.splitlines()), None)

    def _job(self, line: str) -> Job:
        number, host, state, nodes = line.split("|")
        return Job(int(number), host, state, self.has_gres(int(number)), tuple(self.hostnames(nodes)))

    def has_gres(self, number: int) -> bool:
        """Whether the job was given generic resources: Slurm cannot swap nodes inside such a job."""
        return bool(_GRES.search(self._command("scontrol", "-o", "show", "job", str(number)).out))

    def mark(self, node: str, state: str, reason: str) -> Result:
        return self._command("scontrol", "update", f"nodename={node}", f"state={state}", f"reason={reason}")

    def resume(self, node: str) -> Result:
        return self._command("scontrol", "update", f"nodename={node}", "state=resume")

    def requeue(self, number: int) -> Result:
        return self._command("scontrol", "requeue", str(number))

    def cancel(self, number: int) -> Result:
        return self._command("scancel", str(number))

    def start_now(self, number: int) -> Result:
        """A requeued job would wait two minutes otherwise."""
        return self._command("scontrol", "update", f"jobid={number}", "StartTime=now")

    def expansions_of(self, number: int) -> list[int]:
        """Extra jobs that were asked for to enlarge this one."""
        answer = self._command("squeue", "-h", "-t", "PD,CF,R", "-o", "%A|%E")
        rows = [line.split("|", 1) for line in answer.out.splitlines()]
        return [int(row[0]) for row in rows if re.search(rf"\bexpand:{number}\b", row[-1])]

    def hostnames(self, expression: str) -> list[str]:
        """``ip-10-0-0-[1-3]`` as single names."""
        return self._command("scontrol", "show", "hostnames", expression).out.split() if expression else []

    def _command(self, program: str, *arguments: str) -> Result:
        return self._run([BIN + program, *arguments], timeout=8.0)
