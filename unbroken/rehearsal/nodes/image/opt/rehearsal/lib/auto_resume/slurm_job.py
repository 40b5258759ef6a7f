"""What the helper asks Slurm about its own job, and how a changed job's variables reach the next step."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

from slurm_commands import Result, Runner

_OWN_VARIABLES = ("SLURM_", "SBATCH_", "SALLOC_", "SRUN_")
_BLOCKING = {"Alloc", "Contain"}


@dataclass(frozen=True)
class Settings:
    """Of ``scontrol show config``, what matters here."""

    controller: str
    """The controller's address."""
    task_plugin: str
    prolog_flags: str

    @property
    def refusals(self) -> list[str]:
        """Why a step cannot be resumed under this configuration; empty where it can."""
        found = []
        if self.task_plugin not in ("task/none", "(null)"):
            found.append(
                f"Configuration error: slurm.conf has TaskPlugin={self.task_plugin}. "
                "Only task/none is supported now"
            )
        if _BLOCKING & set(self.prolog_flags.split(",")):
            found.append("Config unsupported : PrologFlags=Alloc")
        return found


def parse_settings(text: str) -> Settings:
    """The settings from the text of ``scontrol show config``."""
    values = dict(re.findall(r"^(\S+)\s*= (.*?)\s*$", text, re.MULTILINE))
    host = re.match(r"([^(]+)(?:\((.+)\))?", values.get("SlurmctldHost[0]", ""))
    controller = (host.group(2) or host.group(1)) if host else ""
    return Settings(controller, values.get("TaskPlugin", "task/none"), values.get("PrologFlags", "(null)"))


def without_job(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which a new job can be asked for."""
    return {k: v for k, v in env.items() if k == "SLURM_CONF" or not k.startswith(_OWN_VARIABLES)}


def node_aliases(text: str) -> str:
    """SLURM_NODE_ALIASES from ``scontrol -o show node``: srun dials these addresses, not slurm.conf's."""
    fields = [
        dict(re.findall(r"\b(NodeName|NodeAddr|NodeHostName)=(\S+)", line)) for line in text.splitlines()
    ]
    whole = [f for f in fields if len(f) == 3]
    return ",".join(f"{f['NodeName']}:[{f['NodeAddr']}]:{f['NodeHostName']}" for f in whole)


class SlurmJob:
    """One job, through Slurm's commands; each has a limit."""

    def __init__(self, number: str, run: Runner) -> None:
        self.number = number
        self._run = run

    def settings(self) -> Settings:
        return parse_settings(self._run(["scontrol", "show", "config"], timeout=10).out)

    def node_list(self) -> str:
        """The nodes the job holds now, in Slurm's short form."""
        return self._run(["squeue", "-h", "-j", self.number, "-o", "%N"], timeout=10).out.strip()

    def nodes(self) -> list[str]:
        """The same, name by name."""
        short = self.node_list()
        return self._run(["scontrol", "show", "hostnames", short], timeout=10).out.split() if short else []

    def excluded(self) -> str:
        """Nodes the job must not run on; its extra jobs must not either."""
        found = re.search(r"\bExcNodeList=(\S+)", self._show())
        return found.group(1) if found and found.group(1) != "(null)" else ""

    def absorb(self, extra: str, env: Mapping[str, str]) -> Result:
        """Move all nodes of an extra job into this one; the empty extra job is cancelled."""
        own = {**env, "SLURM_JOB_ID": extra, "SLURM_JOBID": extra}
        with tempfile.TemporaryDirectory(prefix="auto-resume-") as folder:  # scontrol leaves a script behind
            command = ["scontrol", "update", f"JobId={extra}", "NumNodes=0"]
            moved = self._run(command, timeout=20, cwd=folder, env=own)
        self._run(["scancel", extra], timeout=10)
        return moved

    def renew(self, env: MutableMapping[str, str]) -> None:
        """Give a step started from this environment the job's new nodes; their number is the old one.

        After several nodes were lost at once, Slurm counts the ended step's processors as used for a minute.
        """
        env["SLURM_JOB_NODELIST"] = env["SLURM_NODELIST"] = self.node_list()
        env["SLURM_OVERLAP"] = "1"
        self._renew_aliases(env)

    def _renew_aliases(self, env: MutableMapping[str, str]) -> None:
        """Where CLOUD nodes are to be found."""
        if env.get("SLURM_NODE_ALIASES", "(null)") != "(null)":
            shown = self._run(["scontrol", "-o", "show", "node", env["SLURM_JOB_NODELIST"]], timeout=10)
            env["SLURM_NODE_ALIASES"] = node_aliases(shown.out)

    def _show(self) -> str:
        return self._run(["scontrol", "-o", "show", "job", self.number], timeout=10).out
