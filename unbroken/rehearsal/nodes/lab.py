"""A developer's bench: N bare nodes with munge and systemd up, no service, no cluster. Needs root.

    python -m unbroken.rehearsal.nodes.lab --nodes 2

It prints how to enter each node, then waits; Ctrl-C or a closed input ends it and leaves nothing.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from unbroken.rehearsal.hyperpod.machines import MachineSpec
from unbroken.rehearsal.nodes import enter, rootfs
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines

_INSIDE = "UNBROKEN_LAB_HOST_PID"
_MUNGE_KEY_BYTES = 128


def spec(number: int, instance_type: str = "ml.p4de.24xlarge", gpus: int = 8) -> MachineSpec:
    """The machine number ``number`` of a bench."""
    address = f"10.0.128.{10 + number}"
    return MachineSpec(
        name=f"ip-{address.replace('.', '-')}",
        address=address,
        prefix_len=17,
        gateway="10.0.128.1",
        instance_type=instance_type,
        instance_id=f"i-{number:017x}",
        role_name="bench",
        gpus=gpus,
        nvme_gib=1000,
        ebs_gib=100,
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _up(machines: NamespaceMachines, number: int, key: bytes) -> NamespaceMachine:
    machine = machines.create(spec(number))
    machine.put("/etc/munge/munge.key", key, 0o400)
    machine.boot(timeout=60)
    return machine


def _bench(nodes: int, rehearsal: str) -> None:
    key = secrets.token_bytes(_MUNGE_KEY_BYTES)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="unbroken-lab-") as work, ThreadPoolExecutor(nodes) as pool:
        layers = rootfs.layers(rootfs.ensure(_tell))
        machines = NamespaceMachines(layers, Path(work), rehearsal)
        try:
            machines.attach_file_system("fs-0bench", "fs-0bench.fsx.us-west-2.amazonaws.com", "bench", 512)
            up = list(pool.map(lambda number: _up(machines, number, key), range(nodes)))
            _tell(f"{nodes} nodes up after {time.monotonic() - started:.1f} s; the input's end ends them")
            for machine in up:
                argv = enter.command(int(os.environ[_INSIDE]), machine.pid, ["bash"])
                print(f"{machine.spec.name}: {shlex.join(argv)}", flush=True)
            sys.stdin.read()
        except KeyboardInterrupt:
            pass
        finally:
            machines.close()


def main() -> None:
    """Start again in private mount and PID namespaces, then bring the nodes up."""
    parser = argparse.ArgumentParser(description="bare nodes for developers")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--id", default=f"lab-{os.urandom(3).hex()}", help="names the control groups")
    options = parser.parse_args()
    if _INSIDE in os.environ:
        _bench(options.nodes, options.id)
        return
    # Inside, its pid on the host is not known: the shell in between reads it from the host's /proc.
    script = f'read -r pid _ </proc/self/stat; export {_INSIDE}=$pid; exec "$@"'
    inner = [
        sys.executable,
        "-m",
        __spec__.name if __spec__ else __name__,
        "--nodes",
        str(options.nodes),
        "--id",
        options.id,
    ]
    flags = ["--mount", "--pid", "--fork", "--kill-child"]
    # no shell; the words are ours
    os.execvp("unshare", ["unshare", *flags, "sh", "-c", script, "sh", *inner])  # noqa: S606


if __name__ == "__main__":
    main()
