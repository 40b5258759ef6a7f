"""A node made of a folder and a table of programs. Standard library only: a bare Python 3.10 runs it too.

The programs do as much of the real ones' work as the steps rely on, and a program or an argument that is not
known here fails the test.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from unbroken_node.errors import CommandFailed
from unbroken_node.host import Host, Result

FSX = "fs-0123.fsx.us-west-2.amazonaws.com"
SOURCE = f"{FSX}@tcp:/abcd1234"
HOME = "fs-0456.fsx.us-west-2.amazonaws.com"
HOME_SOURCE = f"{HOME}:/fsx"
CONTROLLER, WORKER, LOGIN = "10.0.128.10", "10.0.128.11", "10.0.128.12"
EPOCH = 1_800_000_000.0

MODINFO = "2.15.6"
LUSTRE_PACKAGES = ("lustre-client-modules-aws", "lustre-client-utils")
NET_SHOW = """\
net:
    - net type: tcp
      local NI(s):
        - nid: 10.0.128.11@tcp
          status: up
    - net type: efa
      local NI(s):
        - nid: 1.251.91.0@efa
          status: {status}
"""

SLURMD_UNIT = """\
[Service]
ExecStartPre=/bin/rm -f /opt/slurm/etc/slurm.conf
ExecStart=/opt/slurm/sbin/slurmd -D $SLURMD_OPTIONS
"""
SLURM_CONF = "ClusterName=ml\nSlurmctldHost=ip-10-0-128-10(10.0.128.10)\ninclude accounting.conf\n"


class FakeHost(Host):
    """A Host over a folder: time passes only when someone sleeps, and `machine` is what the programs see."""

    def __init__(self, root: Path, address: str) -> None:
        self.machine = Machine(root, address)
        super().__init__(root, self.machine.run)
        self.clock = 1000.0
        self.root_user = True
        self.names = {FSX, HOME}
        self.ports = {(CONTROLLER, 6817)}

    def hostname(self) -> str:
        return "ip-" + self.machine.address.replace(".", "-")

    def is_root(self) -> bool:
        return self.root_user

    def resolves(self, name: str) -> bool:
        return name in self.names

    def answers(self, address: str, port: int) -> bool:
        if port == 6819 and address == self.machine.address:
            return "slurmdbd.service" in self.machine.active
        return (address, port) in self.ports

    def now(self) -> float:
        return EPOCH + self.clock

    def monotonic(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds


class Machine:
    """The state that the programs read and change."""

    def __init__(self, root: Path, address: str) -> None:
        self.root = root
        self.address = address
        self.calls: list[tuple[str, ...]] = []
        self.sql: list[str] = []
        self.accounts = {"root": (0, 0, "/root"), "slurm": (64030, 64030, "/nonexistent")}
        self.owners: dict[int, tuple[int, int]] = {}
        self.active: set[str] = set()
        self.enabled: set[str] = set()
        self.clusters: list[str] = []
        self.reservations: dict[str, dict[str, str]] = {}
        self.node_state = "State=IDLE+CLOUD SlurmdStartTime=2099-01-01T00:00:00"
        self.route = "default via 10.0.128.1 dev eth0"
        self.mounts_after = 1
        self.s3 = root / "s3"
        self.broken: dict[str, Result] = {}
        self.lustre: str | None = MODINFO
        self.packages: set[str] = set(LUSTRE_PACKAGES)
        self.held: set[str] = set()
        self.efa_status = "down"
        self.reconfigured = 0
        self.keys_made = 0

    def run(self, argv: Sequence[str], timeout: float, stdin: str | None) -> Result:
        """Run a program; an unknown one is a fault of the test or of the step."""
        self.calls.append(tuple(argv))
        if argv[0] in self.broken:
            return self.broken[argv[0]]
        program = getattr(self, "_" + argv[0].replace("-", "_"), None)
        if program is None:
            raise AssertionError(f"the steps ran a program that is not known here: {' '.join(argv)}")
        if argv[0] == "mysql":
            self.sql.append(stdin or "")
        answer = program(*argv[1:])
        return answer if isinstance(answer, Result) else Result(0, str(answer or ""))

    def mounted(self) -> bool:
        return SOURCE in self._table().read_text()

    def mount(self, source: str = SOURCE, kind: str = "lustre", path: str = "/fsx") -> None:
        with self._table().open("a") as table:
            table.write(f"{source} {path} {kind} rw,noatime,flock 0 0\n")
        (self.root / path[1:]).mkdir(exist_ok=True)

    def _table(self) -> Path:
        return self.root / "proc/self/mounts"

    # Network and storage

    def _ip(self, *args: str) -> str:
        if args == ("-json", "-4", "addr", "show"):
            local = [{"addr_info": [{"local": "127.0.0.1"}]}, {"addr_info": [{"local": self.address}]}]
            return json.dumps(local)
        assert args == ("-4", "route", "show", "default"), args
        return self.route

    def _mount(self, *args: str) -> Result:
        if args[1] == "nfs":
            options = "noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576,_netdev"
            assert args == ("-t", "nfs", "-o", options, HOME_SOURCE, "/home"), args
            self.mount(HOME_SOURCE, "nfs4", "/home")
            return Result(0)
        assert args == ("-t", "lustre", "-o", "noatime,flock,_netdev", SOURCE, "/fsx"), args
        self.mounts_after -= 1
        if self.mounts_after > 0:
            return Result(5, "", f"mount.lustre: mount {SOURCE} at /fsx failed: Network is down")
        if self.mounts_after == 0:
            self.mount()
        return Result(0)

    def _systemd_escape(self, *args: str) -> str:
        assert args[:2] == ("--path", "--suffix=mount"), args
        return f"{args[2][1:].replace('/', '-')}.mount\n"

    # The Lustre client and the image's packages

    def _modinfo(self, *args: str) -> Result:
        assert args == ("--field", "version", "lustre"), args
        if self.lustre is None:
            return Result(1, "", "modinfo: ERROR: Module lustre not found.")
        return Result(0, self.lustre + "\n")

    def _uname(self, *args: str) -> str:
        assert args == ("-r",), args
        return "6.8.0-1018-aws\n"

    def _dpkg_query(self, *args: str) -> str:
        assert args[-1] == "lustre-client*", args
        return (
            "".join(f"{name} installed\n" for name in sorted(self.packages))
            + "lustre-client-old config-files\n"
        )

    def _apt_mark(self, verb: str, *names: str) -> str:
        assert verb in ("hold", "showhold"), verb
        self.held |= set(names)
        return "".join(f"{name}\n" for name in sorted(self.held))

    def _apt_get(self, *args: str) -> str:
        if args[0] == "install":
            assert args[-1] == "nfs-common", args
            (self.root / "sbin").mkdir(exist_ok=True)
            (self.root / "sbin/mount.nfs").touch()
        return ""

    def _lnetctl(self, *args: str) -> str:
        assert args == ("net", "show"), args
        return NET_SHOW.format(status=self.efa_status)

    # systemd

    def _systemctl(self, verb: str, *args: str) -> Result | str:
        units = {arg for arg in args if not arg.startswith("-")}
        if verb == "is-active":
            return Result(0 if units <= self.active else 3)
        if verb == "is-enabled":
            return Result(0 if units <= self.enabled else 1)
        if verb == "show" and "--property=ActiveState" in args:
            return "activating\n" if units <= self.active else "inactive\n"
        if verb == "show":
            return str(int(1000.0 * 1e6))
        assert verb in ("daemon-reload", "enable", "disable", "stop", "restart"), verb
        if verb == "enable":
            self.enabled |= units
            self.active |= units if "--now" in args else set()
        if verb in ("disable", "stop"):
            self.active -= units if verb == "stop" or "--now" in args else set()
            self.enabled -= units if verb == "disable" else set()
        return ""

    def _journalctl(self, *args: str) -> str:
        return "slurmd: fatal: the reason it gave\n"

    # Users and owners

    def _getent(self, database: str, key: str) -> Result:
        for name, (uid, gid, home) in self.accounts.items():
            if key in (name, str(uid)):
                line = (
                    f"{name}:x:{uid}:{gid}::{home}:/bin/bash" if database == "passwd" else f"{name}:x:{gid}:"
                )
                return Result(0, line + "\n")
        return Result(2)

    def _groupadd(self, *args: str) -> str:
        assert args[0] == "--gid", args
        return ""

    def _useradd(self, *args: str) -> str:
        assert "--no-create-home" in args, "the home is made on the shared file system, by the step itself"
        *options, name = (arg for arg in args if arg != "--no-create-home")
        given = dict(zip(options[::2], options[1::2], strict=True))
        uid = int(given["--uid"])
        self.accounts[name] = (uid, uid, given["--home-dir"])
        return ""

    def _usermod(self, option: str, home: str, name: str) -> str:
        assert option == "--home", option
        uid, gid, _ = self.accounts[name]
        self.accounts[name] = (uid, gid, home)
        return ""

    def _chown(self, owner: str, *paths: str) -> str:
        name, _, group = owner.partition(":")
        uid, gid, _ = self.accounts[name]
        gid = self.accounts[group][1] if group else gid
        for path in paths:
            self.owners[Path(path).stat().st_ino] = (uid, gid)
        return ""

    def _stat(self, form: str, path: str) -> str:
        uid, gid = self.owners.get(Path(path).stat().st_ino, (0, 0))
        names = {account[0]: name for name, account in self.accounts.items()}
        return f"{names[uid]}:{names[gid]}\n" if form == "--format=%U:%G" else f"{uid}:{gid}\n"

    def _ssh_keygen(self, *args: str) -> str:
        path = Path(args[-1])
        if args[0] == "-y":
            return path.read_text().replace("PRIVATE ", "ssh-ed25519 ") + " a comment\n"
        self.keys_made += 1
        path.write_text(f"PRIVATE {self.address}-{self.keys_made}")
        path.chmod(0o600)
        path.with_suffix(".pub").write_text("unused")
        return ""

    # Slurm, its database, S3

    def _mysqladmin(self, *args: str) -> str:
        assert args == ("ping",), args
        return ""

    def _mysql(self, *args: str) -> str:
        assert args == ("--batch",), args
        return ""

    def _sacctmgr(self, *args: str) -> str:
        if "list" in args:
            return "\n".join(self.clusters)
        assert args[:3] == ("--immediate", "add", "cluster"), args
        self.clusters.append(args[3])
        return ""

    def _scontrol(self, *args: str) -> Result | str:
        if args == ("reconfigure",):
            self.reconfigured += 1
            return ""
        if args == ("ping",):
            return "Slurmctld(primary) at ip-10-0-128-10 is UP"
        if args[:2] == ("create", "reservation"):
            return self._reserve(dict(word.split("=", 1) for word in args[2:]))
        if args[:3] == ("--oneliner", "show", "reservation"):
            found = self.reservations.get(args[3])
            words = " ".join(f"{key}={value}" for key, value in (found or {}).items())
            return f"ReservationName={args[3]} {words}" if found else Result(1, "", f"{args[3]} not found")
        assert args[:3] == ("--oneliner", "show", "node"), args
        return f"NodeName={args[3]} {self.node_state}" if self.node_state else Result(1, "", "Node not found")

    def _reserve(self, given: dict[str, str]) -> Result:
        name = given.pop("ReservationName")
        if name in self.reservations:
            return Result(1, "", "Error creating the reservation: Duplicate reservation name")
        self.reservations[name] = given
        return Result(0)

    def _aws(self, *args: str) -> Result:
        head = ("s3", "cp", "--recursive", "--only-show-errors", "--region", "us-west-2")
        assert args[: len(head)] == head, args
        uri, target = args[len(head) :]
        source = self.s3 / uri.removeprefix("s3://")
        if not source.is_dir():
            return Result(1, "", "fatal error: An error occurred (AccessDenied): Access Denied")
        shutil.copytree(source, target, dirs_exist_ok=True)
        return Result(0)


def hanging(argv: Sequence[str], timeout: float, stdin: str | None) -> Result:
    """A program that never ends."""
    raise CommandFailed(f"`{argv[0]}` did not end within {timeout:g} s")


def build(root: Path, address: str, bundle: Path, training: Path | None = None) -> FakeHost:
    """Make the folder of a node as HyperPod hands it over, and what S3 holds."""
    for folder in ("opt/ml/config", "opt/slurm/etc", "etc/systemd/system", "proc/self", "var/log/slurm"):
        (root / folder).mkdir(parents=True)
    (root / "proc/self/mounts").write_text("/dev/root / ext4 rw 0 0\n")
    (root / "opt/ml/config/resource_config.json").write_text(json.dumps(resource_config(), indent=1))
    parameters = bundle / "provisioning_parameters.json"
    shutil.copy(parameters, root / "opt/ml/config/provisioning_parameters.json")
    (root / "etc/systemd/system/slurmd.service").write_text(SLURMD_UNIT)
    if address == CONTROLLER:
        (root / "opt/slurm/etc/slurm.conf").write_text(SLURM_CONF)
        (root / "opt/slurm/etc/accounting.conf").touch()
    host = FakeHost(root, address)
    if training is not None:
        uri: str = json.loads((bundle / "deployed.json").read_text())["training_uri"]
        shutil.copytree(training, host.machine.s3 / uri.removeprefix("s3://"))
    return host


def resource_config() -> dict[str, object]:
    """Return the service's file for a controller, a login node, a worker and an empty group."""

    def group(name: str, *addresses: str) -> dict[str, object]:
        instances = [
            {"InstanceName": f"{name}-{n}", "InstanceId": f"i-{name}-{n}", "CustomerIpAddress": address}
            for n, address in enumerate(addresses, 1)
        ]
        return {"Name": name, "InstanceType": "ml.m5.xlarge", "Instances": instances}

    groups = [
        group("controller-machine", CONTROLLER),
        group("login-group", LOGIN),
        group("worker-group-1", WORKER),
        {"Name": "scaled-to-zero", "InstanceType": "ml.p5.48xlarge", "Instances": None},
    ]
    return {"ClusterConfig": {"ClusterName": "ml", "ClusterType": "Slurm"}, "InstanceGroups": groups}


def snapshot(root: Path) -> dict[str, str]:
    """Return every file below a folder with its mode and content, links with their target."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = f"{path.stat().st_mode & 0o7777:04o} {path.read_text()}"
    return found
