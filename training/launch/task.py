"""One task of the step, run once a node by srun: find where the ranks meet, then become torchrun.

torchrun is told to restart nothing: on a failure it must end at once, so that srun, and through it HyperPod's
auto-resume or the supervisor, sees it. Standard library only.
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

from training.launch.rendezvous import Rendezvous, RendezvousError, resolve, run_command

EXIT_NO_RENDEZVOUS = 2
_SIOCGIFADDR = 0x8915
# how long torchrun waits, once told to stop, for the ranks to save before it kills them
_SAVE_SECONDS = 150


def torchrun_command(found: Rendezvous, job_file: str, ranks_per_node: int) -> list[str]:
    """The command that starts this node's ranks. No restarts; signals are passed on to the ranks."""
    return [
        *(sys.executable, "-m", "torch.distributed.run"),
        f"--nnodes={len(found.nodes)}",
        f"--node-rank={found.node_rank}",
        f"--nproc-per-node={ranks_per_node}",
        f"--master-addr={found.address}",
        f"--master-port={found.port}",
        "--max-restarts=0",
        "--signals-to-handle=SIGTERM,SIGINT,SIGUSR1",
        f"--shutdown-timeout={_SAVE_SECONDS}",
        *("-m", "training.pretrain", "--config", job_file),
    ]


def add_environment(environment: MutableMapping[str, str], interface: str | None) -> None:
    """What the ranks need beyond the batch script's exports; nothing that is set already is changed."""
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3")
    if interface is not None:
        environment.setdefault("GLOO_SOCKET_IFNAME", interface)


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
    """Resolve and replace this process by torchrun; returns only when that fails."""
    parser = argparse.ArgumentParser(prog="python -m training.launch.task")
    parser.add_argument("--job-file", type=Path, required=True)
    parser.add_argument("--ranks-per-node", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        found = resolve(os.environ, run_command)
    except (RendezvousError, KeyError) as error:
        print(f"task: no rendezvous: {error}", file=sys.stderr)
        return EXIT_NO_RENDEZVOUS
    add_environment(os.environ, interface_towards(found.address))
    print(
        f"task: node {found.node_rank} of {len(found.nodes)}, meeting at {found.address}:{found.port}",
        flush=True,
    )
    command = torchrun_command(found, str(options.job_file), options.ranks_per_node)
    os.execv(command[0], command)  # noqa: S606 - the command is built above, no shell


if __name__ == "__main__":
    sys.exit(main())
