"""Machines, the rest of AWS, and a clock, all made up: they record, fail as scripted, refuse the unknown."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any

from unbroken.rehearsal.hyperpod import deep_checks, host_setup
from unbroken.rehearsal.hyperpod.machines import (
    NO_ENVIRONMENT,
    AccessDenied,
    Database,
    FileSystem,
    MachineError,
    MachineSpec,
    NotFound,
    Reach,
    Role,
    SecurityGroup,
    Subnet,
)
from unbroken.rehearsal.hyperpod.node_setup import PREPARE, SLURM_CONF
from unbroken.rehearsal.hyperpod.service import HyperPodService
from unbroken.rehearsal.hyperpod.settings import Settings
from unbroken.rehearsal.hyperpod.transfer import ARCHIVE, UNPACK, unpacked

ROLE = "arn:aws:iam::000000000000:role/execution"
BUNDLE = "s3://sagemaker-lifecycle/lifecycle/abc/"
FOLDER = "/tmp/sagemaker-lifecycle/lifecycle/abc"
LOG = "/var/log/provision/provisioning.log"
PARAMETERS = {
    "version": "1.0.0",
    "workload_manager": "slurm",
    "controller_group": "controller-machine",
    "worker_groups": [{"instance_group_name": "workers", "partition_name": "dev"}],
}


class FakeClock:
    """Time that moves only by sleeping."""

    def __init__(self) -> None:
        self.t = 1_000_000.0
        self.on_sleep: Callable[[float], None] = lambda seconds: None

    def now(self) -> float:
        return self.t

    def sleep(self, seconds: float) -> None:
        self.t += seconds
        self.on_sleep(seconds)


class FakeEvents:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, str, dict[str, object]]] = []

    def emit(self, source: str, kind: str, subject: str, /, **data: object) -> None:
        self.all.append((source, kind, subject, data))

    def statuses(self, subject: str) -> list[str]:
        return [
            str(data["status"]) for _, kind, about, data in self.all if about == subject and "status" in kind
        ]


class FakeMachine:
    """A machine whose lifecycle script answers what ``FakeMachines.script`` says."""

    def __init__(self, spec: MachineSpec, makers: FakeMachines) -> None:
        self.spec, self.makers = spec, makers
        self.pid = 1000 + len(makers.made)
        self.files: dict[str, bytes] = {}
        self.modes: dict[str, int] = {}
        self.up = self.discarded = False
        self.calls: list[str] = []
        self.orders: dict[str, Any] = {}

    def boot(self, timeout: float) -> None:
        self.makers.note("boot", self)
        if self.spec.name in self.makers.dead_on_boot:
            raise MachineError(f"{self.spec.name}: init is not up after {timeout:g} s")
        self.up = True

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.makers.note(f"put {path}", self)
        self.files[path], self.modes[path] = data, mode
        if path.endswith("resource_config.json") and self.makers.agent:
            self.files[SLURM_CONF] = b"ClusterName=x\n"

    def get(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str = "/",
        env: Mapping[str, str] = NO_ENVIRONMENT,
        stdout_path: str | None = None,
    ) -> CompletedProcess[str]:
        command = " ".join(argv)
        if tuple(argv) == UNPACK:
            files = unpacked(self.files.pop(ARCHIVE))
            self.files |= files
            self.modes |= dict.fromkeys(files, 0o644)
            return CompletedProcess(argv, 0, "", "")
        if tuple(argv) == PREPARE:
            self.calls.append(command)
            return CompletedProcess(argv, 0, "", "")
        if tuple(argv) == host_setup.COMMAND:
            self.makers.note("host setup", self)
            self.orders = json.loads(self.files.pop(host_setup.ORDERS))
            code, text = self.makers.setup(self)
            return CompletedProcess(argv, code, "", text)
        if argv[0] == deep_checks.SCONTROL:
            self.makers.note(" ".join(argv[1:4]), self)
            return CompletedProcess(argv, 0, "", "")
        if command not in ("bash on_create.sh", "bash on_init_complete.sh"):
            raise AssertionError(f"a command nobody expected: {command}")
        return self._script(command, timeout, cwd, env, stdout_path)

    def _script(
        self, command: str, timeout: float, cwd: str, env: Mapping[str, str], log: str | None
    ) -> CompletedProcess[str]:
        self.makers.note("script", self)
        self.calls.append(f"{cwd}$ {command} {dict(env)}")
        code, text = self.makers.script(self)
        if log is not None:
            self.files[log] = self.files.get(log, b"") + text.encode()
        if code is None:
            raise TimeoutExpired("bash", timeout)
        return CompletedProcess(["bash"], code, "", "")

    def alive(self) -> bool:
        return self.up

    def reboot(self) -> None:
        self.makers.note("reboot", self)
        if self.spec.name in self.makers.dead_on_boot:
            raise MachineError(f"{self.spec.name} does not come back")
        self.pid += 10_000

    def power_off(self) -> None:
        self.makers.note("power_off", self)
        self.up = False

    def discard(self) -> None:
        self.discarded = True


class FakeMachines:
    """Makes fake machines and keeps the order of what happened to them."""

    def __init__(self) -> None:
        self.made: list[FakeMachine] = []
        self.log: list[tuple[str, str]] = []
        self.attached: set[str] = set()
        self.dead_on_boot: set[str] = set()
        self.agent = True
        self.closed = False
        self.script: Callable[[FakeMachine], tuple[int | None, str]] = lambda machine: (0, "hello\n")
        self.setup: Callable[[FakeMachine], tuple[int, str]] = lambda machine: (0, "")
        self.databases: list[Database] = []
        self._lock = threading.Lock()

    def note(self, what: str, machine: FakeMachine) -> None:
        with self._lock:
            self.log.append((what, machine.spec.name))

    def order(self, what: str) -> list[str]:
        return [name for noted, name in self.log if noted == what]

    def create(self, spec: MachineSpec) -> FakeMachine:
        with self._lock:
            machine = FakeMachine(spec, self)
            self.made.append(machine)
        return machine

    def attach_file_system(self, file_system_id: str, dns_name: str, mount_name: str, size_mib: int) -> None:
        self.attached.add(file_system_id)

    def attach_home(self, file_system_id: str, dns_name: str, size_mib: int) -> None:
        self.attached.add(file_system_id)

    def attach_database(self, database: Database, neighbour: MachineSpec) -> None:
        self.databases.append(database)

    def close(self) -> None:
        self.closed = True

    def of(self, name: str) -> list[FakeMachine]:
        """All machines ever made under a host name, oldest first."""
        return [machine for machine in self.made if machine.spec.name == name]


@dataclass
class FakeStore:
    """The rest of AWS, in memory."""

    roles: dict[str, Role] = field(
        default_factory=lambda: {ROLE: Role("execution", ROLE, frozenset({"sagemaker.amazonaws.com"}))}
    )
    subnets: dict[str, Subnet] = field(
        default_factory=lambda: {"subnet-1": Subnet("subnet-1", "vpc-1", "10.0.128.0/24", "usw2-az4")}
    )
    groups: dict[str, SecurityGroup] = field(
        default_factory=lambda: {"sg-1": SecurityGroup("sg-1", "vpc-1", True, True)}
    )
    bundles: dict[str, dict[str, bytes]] = field(
        default_factory=lambda: {
            BUNDLE: {
                "on_create.sh": b"echo hello\n",
                "on_init_complete.sh": b"echo hello\n",
                "lib/step.py": b"pass\n",
                "provisioning_parameters.json": json.dumps(PARAMETERS, indent=2).encode(),
            }
        }
    )
    denied: set[str] = field(default_factory=set)
    ways: dict[str, Reach] = field(default_factory=lambda: defaultdict(lambda: Reach(internet=True)))
    secrets: dict[str, dict[str, str]] = field(default_factory=dict)
    useless_keys: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    """Services that refuse every role."""
    locked: bool = False
    """Whether no role may read secrets."""
    interfaces: dict[str, str] = field(default_factory=dict)
    streams: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def role(self, arn: str) -> Role | None:
        return self.roles.get(arn)

    def subnet(self, subnet_id: str) -> Subnet | None:
        return self.subnets.get(subnet_id)

    def security_group(self, group_id: str) -> SecurityGroup | None:
        return self.groups.get(group_id)

    def file_systems(self) -> Sequence[FileSystem]:
        return [
            FileSystem("fs-0123456789abcdef0", "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", "abcd1234")
        ]

    def homes(self) -> Sequence[FileSystem]:
        return [FileSystem("fs-0fedcba9876543210", "fs-0fedcba9876543210.fsx.us-west-2.amazonaws.com", "")]

    def reach(self, subnet_id: str) -> Reach:
        return self.ways[subnet_id]

    def secret(self, arn: str, role_name: str) -> Mapping[str, str]:
        if self.locked:
            raise AccessDenied(f"{role_name} is not authorized to perform: secretsmanager:GetSecretValue")
        if arn not in self.secrets:
            raise NotFound(f"the secret {arn} does not exist")
        return self.secrets[arn]

    def fetch(self, s3_uri: str, role_name: str) -> dict[str, bytes]:
        if role_name in self.denied:
            raise AccessDenied(f"{role_name} is not authorized to perform: s3:GetObject")
        if s3_uri not in self.bundles:
            raise NotFound(f"no bucket for {s3_uri}")
        return dict(self.bundles[s3_uri])

    def check_volume_key(self, key_id: str, role_name: str) -> None:
        if key_id in self.useless_keys:
            raise AccessDenied(f"{role_name} is not authorized to perform: kms:CreateGrant on {key_id}")

    def attach_interface(
        self, subnet_id: str, security_group_ids: Sequence[str], address: str, role_name: str
    ) -> str:
        if "ec2" in self.refused:
            raise AccessDenied(f"{role_name} is not authorized to perform: ec2:CreateNetworkInterface")
        with self.lock:
            assert address not in self.interfaces.values(), f"{address} is taken"
            name = f"eni-{len(self.interfaces)}-{address}"
            self.interfaces[name] = address
        return name

    def detach_interface(self, interface_id: str) -> None:
        with self.lock:
            self.interfaces.pop(interface_id, None)

    def put_log_lines(self, group: str, stream: str, lines: Sequence[str], role_name: str) -> None:
        if "logs" in self.refused:
            raise AccessDenied(f"{role_name} is not authorized to perform: logs:PutLogEvents")
        with self.lock:
            self.streams.setdefault((group, stream), []).extend(lines)


class Bench:
    """A service on fakes; long work waits in a queue until ``settle`` runs it in this thread."""

    def __init__(self, **settings: Any) -> None:
        self.machines, self.store, self.clock, self.events = (
            FakeMachines(),
            FakeStore(),
            FakeClock(),
            FakeEvents(),
        )
        self.queue: deque[tuple[str, Callable[[], None]]] = deque()
        chosen = {"view_lag_seconds": 0.0, "worker_config_lag_seconds": 0.0, **settings}
        self.service = HyperPodService(
            self.machines, self.store, self.events, self.clock, Settings(**chosen), self._later
        )

    def _later(self, name: str, work: Callable[[], None]) -> None:
        self.queue.append((name, work))

    def settle(self, but: str = "") -> None:
        """Run all work that waits; what is named ``but`` stays."""
        kept = []
        while self.queue:
            name, work = self.queue.popleft()
            if name == but:
                kept.append((name, work))
            else:
                work()
        self.queue.extend(kept)

    def up(self, workers: int = 2, **changes: Any) -> None:
        """A cluster in service."""
        self.service.create_cluster(request(workers, **changes))
        self.settle()
        assert self.status() == "InService", self.describe()

    def describe(self) -> dict[str, Any]:
        return self.service.describe_cluster({"ClusterName": "ml"})

    def status(self) -> str:
        return str(self.describe()["ClusterStatus"])

    def nodes(self, group: str = "") -> list[dict[str, Any]]:
        answer = self.service.list_cluster_nodes({"ClusterName": "ml", "IncludeNodeLogicalIds": True})
        rows: list[dict[str, Any]] = answer["ClusterNodeSummaries"]
        return sorted(
            (row for row in rows if group in ("", row["InstanceGroupName"])),
            key=lambda row: row["NodeLogicalId"],
        )

    def ids(self, group: str = "workers") -> list[str]:
        return [row["InstanceId"] for row in self.nodes(group)]

    def machine(self, node_name: str) -> FakeMachine:
        """The machine that now runs under a host name."""
        return self.machines.of(node_name)[-1]


CONTROLLER, WORKER_1, WORKER_2, WORKER_3 = (f"ip-10-0-128-{n}" for n in (10, 11, 12, 13))


def group(name: str, count: int, instance_type: str = "ml.m5.large", **more: Any) -> dict[str, Any]:
    """A ClusterInstanceGroupSpecification."""
    return {
        "InstanceGroupName": name,
        "InstanceCount": count,
        "InstanceType": instance_type,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": {"SourceS3Uri": BUNDLE, "OnCreate": "on_create.sh"},
        **more,
    }


def request(workers: int = 2, worker: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A CreateCluster request: one controller and some workers."""
    return {
        "ClusterName": "ml",
        "InstanceGroups": [group("controller-machine", 1), group("workers", workers) | dict(worker or {})],
        "VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]},
        **changes,
    }


def resize(workers: int, **more: Any) -> dict[str, Any]:
    """An UpdateCluster request for another number of workers."""
    return {"ClusterName": "ml", "InstanceGroups": [group("workers", workers)], **more}
