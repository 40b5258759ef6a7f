"""The rehearsed cluster from outside: its nodes, commands on them, and what Slurm says."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbroken.ops.errors import CannotRun
from unbroken.rehearsal.nodes import enter

SLURM = "/opt/slurm/bin"
COMMAND_SECONDS = 20.0


@dataclass(frozen=True)
class Node:
    """A node as nodes.json has it."""

    name: str
    group: str
    ip: str
    instance_id: str
    inner_pid: int
    status: str


class Cluster:
    """The nodes of one rehearsal. Raises CannotRun for a node that is not there."""

    def __init__(self, state: Path, server_pid: int, controller_group: str) -> None:
        self.state = state
        self.server_pid = server_pid
        self.controller_group = controller_group

    def nodes(self) -> list[Node]:
        """All nodes there are now."""
        try:
            content = json.loads((self.state / "nodes.json").read_text())
        except (OSError, ValueError):
            return []
        return [_node(item) for item in content]

    def controller(self) -> Node:
        """The node on which Slurm's daemons run."""
        return self.find(self.controller_group)

    def find(self, name: str) -> Node:
        """A node by its name, its instance id or its group (the group's first one)."""
        nodes = self.nodes()
        wanted = self.controller_group if name == "controller" else name
        for node in nodes:
            if wanted in (node.name, node.group, node.instance_id, node.ip):
                return node
        names = ", ".join(node.name for node in nodes) or "none"
        raise CannotRun(f"there is no node '{name}'", f"the nodes are: {names}")

    def command(self, node: Node, argv: Sequence[str], user: str | None = None) -> list[str]:
        """The command that runs `argv` on a node."""
        if node.inner_pid <= 0:
            raise CannotRun(f"{node.name} ({node.status}) has no process here", "see `unbroken status`")
        return enter.command(self.server_pid, node.inner_pid, argv, user)

    def run(
        self,
        node: Node,
        argv: Sequence[str],
        *,
        user: str | None = None,
        stdin: str | None = None,
        timeout: float = COMMAND_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a node and wait; subprocess.TimeoutExpired names it if it takes too long."""
        return subprocess.run(
            self.command(node, argv, user),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def shell(self, script: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a shell script on the controller, with Slurm's commands on its PATH."""
        return self.run(self.controller(), ["sh", "-c", f"PATH={SLURM}:$PATH; {script}"], **options)

    def slurm_complaint(self) -> str:
        """Why `slurm_states` is empty, in the words of what failed; empty while Slurm answers."""
        try:
            done = self.shell("sinfo -h", timeout=10)
        except (subprocess.TimeoutExpired, CannotRun) as error:
            return str(error)
        return "" if done.returncode == 0 else done.stderr.strip() or f"sinfo: exit code {done.returncode}"

    def slurm_states(self) -> dict[str, str]:
        """State of every node in Slurm (`idle`, `mixed`, `down*`); empty while Slurm does not answer."""
        try:
            done = self.shell("sinfo -h -N -o '%N %T'", timeout=10)
        except (subprocess.TimeoutExpired, CannotRun):
            return {}
        pairs = (line.split() for line in done.stdout.splitlines())
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}

    def write(self, path: str, text: str, user: str) -> None:
        """Write a file as a user of the cluster; its folder is made. OSError if that fails."""
        folder = str(Path(path).parent)
        script = f"mkdir -p {shlex.quote(folder)} && cat > {shlex.quote(path)}"
        done = self.shell(script, user=user, stdin=text)
        if done.returncode != 0:
            raise OSError(f"{path}: {done.stderr.strip()}")


def _node(item: dict[str, Any]) -> Node:
    return Node(
        name=item["name"],
        group=item["group"],
        ip=item["ip"],
        instance_id=item["instance_id"],
        inner_pid=int(item.get("inner_pid") or 0),
        status=item["status"],
    )


def wait_for(what: str, ready: Callable[[], bool], seconds: float, poll: float = 0.5) -> float:
    """Poll until something holds and return how long that took; TimeoutError names it after `seconds`."""
    start = time.monotonic()
    while not ready():
        if time.monotonic() - start > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(poll)
    return time.monotonic() - start
