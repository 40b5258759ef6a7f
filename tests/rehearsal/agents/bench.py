"""A small cluster of real Slurm for the agents' tests: a controller, three workers, and a stand-in service.

Run as a program in private mount and PID namespaces (``start`` does that); it then takes one JSON request a
line on standard input and answers each with one line. The lifecycle bundle has no part in it: what its steps
would do is a few commands here.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from unbroken.rehearsal.hyperpod.machines import MachineSpec
from unbroken.rehearsal.nodes import rootfs
from unbroken.rehearsal.nodes.cgroups import FORCED
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines

ROOT = Path(__file__).resolve().parents[3]
GATEWAY = "10.0.128.1"
WORKERS = 3
CONTROLLER = "ip-10-0-128-10"
WORKER_TYPE = "ml.p4de.24xlarge"
FILE_SYSTEM = "fs-0bench.fsx.us-west-2.amazonaws.com@tcp:/bench"

PREPARE = f"""set -e
mkdir -p /fsx
mount -t lustre {FILE_SYSTEM} /fsx
id ubuntu >/dev/null 2>&1 || useradd --uid 1000 --no-create-home --home-dir /fsx --shell /bin/bash ubuntu
"""
CONTROL = """set -e
chmod 1777 /fsx
mv /etc/systemd/system/slurmd.service /etc/systemd/system/slurmd_DO_NOT_START_ON_CONTROLLER.service
for i in $(seq 200); do [ -e /opt/slurm/etc/slurm.conf ] && break; sleep 0.05; done
systemctl enable --now slurmctld
"""
COMPUTE = """set -e
sed -i 's/\\$SLURMD_OPTIONS/--conf-server 10.0.128.10/' /etc/systemd/system/slurmd.service
systemctl daemon-reload
systemctl enable --now slurmd
"""


def spec(number: int, serial: int) -> MachineSpec:
    """Number 0 is the controller; ``serial`` makes the instance id."""
    address = f"10.0.128.{10 + number}"
    return MachineSpec(
        name=f"ip-{address.replace('.', '-')}",
        address=address,
        prefix_len=17,
        gateway=GATEWAY,
        instance_type=WORKER_TYPE if number else "ml.m5.12xlarge",
        instance_id=f"i-{serial:017x}",
        role_name="bench",
        gpus=8 if number else 0,
        nvme_gib=0,
        ebs_gib=100,
    )


class Bench:
    """The cluster and the service's part in it."""

    def __init__(self, machines: NamespaceMachines) -> None:
        self._machines = machines
        self._key = secrets.token_bytes(128)
        self._serial = 0
        self._lock = threading.Lock()
        self.nodes: dict[str, NamespaceMachine] = {}
        self.agent_settings: dict[str, Any] = {"NodeRecovery": "Automatic"}
        self.events: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.delay = 0.0
        self._replacing: set[str] = set()

    def up(self) -> None:
        """Every machine, at once; the controller's agent writes what the workers then fetch."""
        specs = [spec(number, self._next()) for number in range(WORKERS + 1)]
        self._wanted = {s.name: s for s in specs}
        with ThreadPoolExecutor(len(specs)) as pool:
            for done in [pool.submit(self._boot, s) for s in specs]:
                done.result()

    def close(self) -> None:
        self._machines.close()

    def handle(self, request: dict[str, Any]) -> Any:
        """One request of the tests."""
        name, node = request["do"], request.get("node", CONTROLLER)
        actions: dict[str, Callable[[], Any]] = {
            "run": lambda: self._run(node, request),
            "put": lambda: self.nodes[node].put(request["path"], request["text"].encode()),
            "power_off": lambda: self.nodes[node].power_off(),
            "revive": lambda: self._replace({"node": node, "reason": "Action:Replace"}),
            "grow": lambda: self._grow(),
            "shrink": lambda: self._shrink(node),
            "events": lambda: self.events,
            "requests": lambda: self.requests,
            "delay": lambda: setattr(self, "delay", float(request["seconds"])),
            "agent": lambda: self._agent(request["settings"]),
            "config": lambda: self._configure(self.nodes[CONTROLLER]),
        }
        return actions[name]()

    def take(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What nodes post."""
        if path == "/replace":
            return self.replace(body)
        self.events.append(body)
        return {}

    def replace(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the service does when the agent asks."""
        self.requests.append({**request, "t": time.time()})
        with self._lock:
            fresh = request["node"] not in self._replacing
            self._replacing.add(request["node"])
        if fresh:
            threading.Thread(target=self._replace, args=(request,), daemon=True).start()
        return {"accepted": fresh, "message": "started" if fresh else "under way"}

    def _replace(self, request: dict[str, Any]) -> None:
        name = request["node"]
        time.sleep(self.delay)
        if request["reason"] == "Action:Reboot":
            self.nodes[name].reboot()
            self.nodes[name].run(["sh", "-c", f"mount -t lustre {FILE_SYSTEM} /fsx"], timeout=30)
        else:
            self.nodes[name].discard()
            self._wanted[name] = dataclasses.replace(self._wanted[name], instance_id=f"i-{self._next():017x}")
            self._configure(self.nodes[CONTROLLER])
            self._boot(self._wanted[name])
        self._replacing.discard(name)

    def _grow(self) -> str:
        """One worker more, told to the controller first, as the service does."""
        wanted = spec(len(self._wanted), self._next())
        self._wanted[wanted.name] = wanted
        self._configure(self.nodes[CONTROLLER])
        self._boot(wanted)
        return wanted.name

    def _shrink(self, name: str) -> None:
        del self._wanted[name]
        self._configure(self.nodes[CONTROLLER])
        self.nodes.pop(name).discard()

    def _boot(self, wanted: MachineSpec) -> None:
        machine = self._machines.create(wanted)
        machine.put("/etc/munge/munge.key", self._key, 0o400)
        machine.boot(timeout=60)
        self.nodes[wanted.name] = machine
        self._configure(machine)
        script = PREPARE + (CONTROL if wanted.name == CONTROLLER else COMPUTE)
        done = machine.run(["bash", "-c", script], timeout=60)
        if done.returncode:
            raise RuntimeError(f"{wanted.name}: {done.stdout}{done.stderr}")

    def _configure(self, machine: NamespaceMachine) -> None:
        files = {"resource_config": self._resources(), "provisioning_parameters": PROVISIONING}
        if machine.spec.name == CONTROLLER:
            files["cluster_agent"] = self.agent_settings
        with self._lock:
            for name, value in files.items():
                machine.put(f"/opt/ml/config/{name}.json", json.dumps(value, indent=1).encode())

    def _agent(self, settings: dict[str, Any]) -> None:
        self.agent_settings = settings
        self._configure(self.nodes[CONTROLLER])

    def _resources(self) -> dict[str, Any]:
        names = list(self._wanted)
        return {
            "ClusterConfig": {"ClusterName": "bench", "ClusterType": "Slurm"},
            "InstanceGroups": [
                self._group("controller-machine", names[:1]),
                self._group("worker-group-1", names[1:]),
            ],
        }

    def _group(self, group: str, names: list[str]) -> dict[str, Any]:
        specs = [self._wanted[name] for name in names]
        instances = [
            {"InstanceName": f"{group}-{i}", "InstanceId": s.instance_id, "CustomerIpAddress": s.address}
            for i, s in enumerate(specs, 1)
        ]
        return {"Name": group, "InstanceType": specs[0].instance_type, "Instances": instances}

    def _run(self, node: str, request: dict[str, Any]) -> dict[str, Any]:
        user = request.get("user")
        argv = ["runuser", "-u", user, "--", *request["argv"]] if user else request["argv"]
        timeout = float(request.get("timeout", 30))
        done = self.nodes[node].run(argv, timeout=timeout, cwd="/fsx", env=request.get("env", {}))
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}

    def _next(self) -> int:
        with self._lock:
            self._serial += 1
            return self._serial


PROVISIONING = {
    "version": "1.0.0",
    "workload_manager": "slurm",
    "controller_group": "controller-machine",
    "worker_groups": [{"instance_group_name": "worker-group-1", "partition_name": "train"}],
}


def serve(bench: Bench, machines: NamespaceMachines) -> None:
    """The stand-in service on the node network."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(bench.take(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    machines.network.add_gateway(GATEWAY, 17)
    server = ThreadingHTTPServer((GATEWAY, 9700), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = machines.network.listen(GATEWAY, 9700)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main() -> None:
    """Bring the cluster up, say so, and answer requests until the input ends."""
    layers = rootfs.layers(rootfs.ensure(lambda line: print(line, file=sys.stderr)))
    with tempfile.TemporaryDirectory(prefix="unbroken-agents-") as work:
        machines = NamespaceMachines(layers, Path(work), f"agents-{secrets.token_hex(3)}")
        bench = Bench(machines)
        try:
            machines.attach_file_system("fs-0bench", FILE_SYSTEM.split("@")[0], "bench", 256)
            serve(bench, machines)
            bench.up()
            print(json.dumps("up"), flush=True)
            for line in sys.stdin:
                try:
                    answer = {"answer": bench.handle(json.loads(line))}
                except Exception as error:
                    answer = {"error": repr(error)}
                print(json.dumps(answer), flush=True)
        finally:
            bench.close()


def start() -> subprocess.Popen[str]:
    """The bench as a child process, in namespaces of its own that the kernel clears when it ends."""
    inner = [sys.executable, str(Path(__file__).resolve())]
    flags = ["--mount", "--pid", "--fork", "--kill-child"]
    script = 'mount -t proc proc /proc; exec "$@"'
    forced = {name: value for name, value in os.environ.items() if name == FORCED}
    return subprocess.Popen(
        ["unshare", *flags, "sh", "-c", script, "sh", *inner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(ROOT), **forced},
    )


if __name__ == "__main__":
    main()
