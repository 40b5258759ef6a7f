"""One task of the step, run once a node by srun: find where the ranks meet, then become the job's command.

torchrun takes the default of every option from PET_<OPTION>, so any command that starts torchrun meets where
this says, without a word on its line. It is told to restart nothing: on a failure it must end at once, so
that srun, and through it HyperPod's auto-resume or the supervisor, sees it. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import socket
import struct
import sys
from collections.abc import MutableMapping
from pathlib import Path

from training.console import EXIT_CANNOT_START
from training.launch import network
from training.launch.rendezvous import Rendezvous, RendezvousError, resolve, run_command

CALLERS_PYTHONPATH = "UNBROKEN_CALLERS_PYTHONPATH"
"""What PYTHONPATH was before the launcher added itself; the job's own modules must not be hidden by ours."""
_SIOCGIFADDR = 0x8915
# how long torchrun waits, once told to stop, for the ranks to save before it kills them
_SAVE_SECONDS = 150


def rendezvous_environment(found: Rendezvous, ranks_per_node: int) -> dict[str, str]:
    """What tells torchrun, or any other starter of ranks, where to meet; not kept from an earlier attempt."""
    address, port = found.address, str(found.port)
    return {
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
        "NNODES": str(len(found.nodes)),
        "NODE_RANK": str(found.node_rank),
        "PET_NNODES": str(len(found.nodes)),
        "PET_NODE_RANK": str(found.node_rank),
        "PET_NPROC_PER_NODE": str(ranks_per_node),
        "PET_MASTER_ADDR": address,
        "PET_MASTER_PORT": port,
        # for --rdzv-backend=c10d; the static default takes the same place
        "PET_RDZV_ENDPOINT": f"{address}:{port}",
        "PET_RDZV_ID": port,
        "PET_MAX_RESTARTS": "0",
        "PET_SIGNALS_TO_HANDLE": "SIGTERM,SIGINT,SIGUSR1",
        "PET_SHUTDOWN_TIMEOUT": str(_SAVE_SECONDS),
    }


def add_environment(environment: MutableMapping[str, str], interface: str | None) -> None:
    """What the ranks need beyond the batch script's exports; nothing that is set already is changed."""
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3")
    if interface is not None:
        environment.setdefault("GLOO_SOCKET_IFNAME", interface)
    if environment.get("FI_PROVIDER") == "efa":
        environment.update(network.library_path(environment))
    if (callers := environment.pop(CALLERS_PYTHONPATH, None)) is not None:
        environment["PYTHONPATH"] = callers


def interface_towards(address: str) -> str | None:
    """Name of the network interface whose address is used towards another; None where it has no IPv4 one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing: it only chooses the local address
        local = probe.getsockname()[0]
        for _index, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an IPv4 address
                answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                if socket.inet_ntoa(answer[20:24]) == local:
                    return name
    return None


def main(arguments: list[str] | None = None) -> int:
    """Resolve and replace this process by the command; returns only when that fails."""
    parser = argparse.ArgumentParser(prog="python -m training.launch.task")
    parser.add_argument("--ranks-per-node", type=int, required=True)
    parser.add_argument("--writable", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    for folder in options.writable:
        if not os.access(folder, os.W_OK):
            print(f"task: {folder} cannot be written to here; is it mounted?", file=sys.stderr)
            return EXIT_CANNOT_START
    try:
        found = resolve(os.environ, run_command)
        interface = interface_towards(found.address)
    except (RendezvousError, KeyError, OSError) as error:
        print(f"task: no rendezvous: {error}", file=sys.stderr)
        return EXIT_CANNOT_START
    os.environ.update(rendezvous_environment(found, options.ranks_per_node))
    add_environment(os.environ, interface)
    place = f"node {found.node_rank} of {len(found.nodes)}, meeting at {found.address}:{found.port}"
    print(f"task: {place}", flush=True)
    return _become(options.command[1:] if options.command[:1] == ["--"] else options.command)


def _become(command: list[str]) -> int:
    try:
        os.execvp(command[0], command)  # noqa: S606 - the job's own command, no shell
    except OSError as error:
        print(f"task: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
