"""Where the ranks of a step meet, asked of Slurm by each task when it starts.

The environment of a retried step is the old one, so its node lists may name a node that is gone. `scontrol
show job` has the nodes of now. Standard library only.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_FIRST_PORT, _NUM_PORTS = 29_500, 2_000  # below the range Linux gives to outgoing connections


class RendezvousError(RuntimeError):
    """The nodes of the job could not be learnt in time."""


@dataclass(frozen=True)
class Rendezvous:
    """What torchrun must be told: the nodes, this node's place among them, and where to meet."""

    nodes: tuple[str, ...]
    node_rank: int
    address: str
    port: int


Run = Callable[[Sequence[str]], str]


def resolve(
    environment: Mapping[str, str],
    run: Run,
    *,
    deadline_seconds: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Rendezvous:
    """Ask until Slurm's answer fits this task. Raises RendezvousError with the last reason at the deadline.

    An answer does not fit while the job's nodes are being exchanged: a node of the step is missing then.
    """
    until = clock() + deadline_seconds
    while True:
        try:
            return _ask(environment, run)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            if clock() >= until:
                job = environment.get("SLURM_JOB_ID", "?")
                what = f"waited {deadline_seconds:.0f} s for the nodes of job {job}"
                raise RendezvousError(f"{what}: {error}") from None
        sleep(0.5)


def _ask(environment: Mapping[str, str], run: Run) -> Rendezvous:
    me = environment["SLURMD_NODENAME"]
    nodes = _job_nodes(environment, run)
    expected = int(environment.get("SLURM_NTASKS", len(nodes)))
    if len(nodes) != expected:
        raise ValueError(f"the job has {len(nodes)} nodes ({','.join(nodes)}), the step {expected} tasks")
    if me not in nodes:
        raise ValueError(f"{me} is not among the job's nodes {','.join(nodes)}")
    return Rendezvous(tuple(nodes), nodes.index(me), _address(nodes[0], run), _port(environment))


def _job_nodes(environment: Mapping[str, str], run: Run) -> list[str]:
    try:
        job = run(["scontrol", "show", "job", "-o", environment["SLURM_JOB_ID"]])
    except FileNotFoundError:  # in a container: what the step was started with is all there is
        return expand(environment.get("SLURM_STEP_NODELIST", ""))
    found = re.search(r"(?:^|\s)NodeList=(\S+)", job)
    if found is None or found.group(1) == "(null)":
        raise ValueError("the job has no nodes")
    return run(["scontrol", "show", "hostnames", found.group(1)]).split()


def expand(node_list: str) -> list[str]:
    """The names of a node list such as `a-[1,3-4],b`, with one bracket a name. Raises ValueError."""
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)?", node_list):
        found = re.fullmatch(r"([^\[]*)\[([\d,-]+)\](.*)", part)
        if found is None and "[" in part:
            raise ValueError(f"{node_list}: cannot be read without scontrol")
        names += _numbered(*found.groups()) if found else [part]
    return names


def _numbered(before: str, ranges: str, after: str) -> list[str]:
    names = []
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        names += [f"{before}{number:0{len(first)}d}{after}" for number in numbers]
    return names


def _address(node: str, run: Run) -> str:
    """The node's address: its name where that resolves, else what Slurm knows.

    A name that is loopback (as Debian's installer writes into /etc/hosts) leads other nodes to themselves.
    """
    try:
        address = socket.gethostbyname(node)
    except OSError:
        return _known_to_slurm(node, run)
    if not address.startswith("127."):
        return address
    known = _known_to_slurm(node, run)
    if known.startswith("127."):
        raise ValueError(f"{node} resolves to {address}, where no other node reaches it")
    return known


def _known_to_slurm(node: str, run: Run) -> str:
    try:
        found = re.search(r"NodeAddr=(\S+)", run(["scontrol", "show", "node", "-o", node]))
    except FileNotFoundError:
        found = None
    if found is None:
        raise ValueError(f"neither the resolver nor Slurm knows the address of {node}")
    try:
        return socket.gethostbyname(found.group(1))  # Slurm too may know it by a name only
    except OSError as error:
        raise ValueError(f"Slurm's address of {node}, {found.group(1)}: {error.strerror}") from None


def _port(environment: Mapping[str, str]) -> int:
    """A port of this attempt alone: the sockets of the last one may not be gone yet."""
    names = ("SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_STEP_ID")
    key = ".".join(environment.get(name, "0") for name in names)
    return _FIRST_PORT + zlib.crc32(key.encode()) % _NUM_PORTS


def run_command(command: Sequence[str]) -> str:
    """Run a program for at most 20 s and return what it prints; its error text is part of the exception."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
