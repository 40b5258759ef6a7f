"""The node network of one rehearsal: a switch in a network namespace of its own, and a link to each node.

The switch's bridge holds the VPC router's address and the instance metadata address; ``listen`` gives the
server sockets inside. The host gets no interface and no address. What is served there is not here.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import TypeVar

from unbroken.rehearsal.hyperpod.machines import MachineError

METADATA_ADDRESS = "169.254.169.254"
"""Where EC2 serves instance metadata, and role credentials (EC2 user guide, instance metadata)."""
RESOLVER_ADDRESS = "169.254.169.253"
"""The Amazon-provided DNS resolver's link-local address (VPC user guide, DNS attributes)."""

_CLONE_NEWNET = 0x40000000
_BRIDGE = "br0"
# Fixed: left to itself a bridge takes its address from its ports, and changes it when a node goes.
_BRIDGE_MAC = "06:00:00:00:00:01"
_T = TypeVar("_T")


class Network:
    """The switch. It exists as long as this object keeps its namespace open: it cannot outlive the server."""

    def __init__(self) -> None:
        self._namespace = in_thread(_new_namespace)
        self._lock = threading.Lock()
        self._gateways: set[str] = set()
        self._ip(
            "link set lo up",
            f"link add {_BRIDGE} address {_BRIDGE_MAC} type bridge forward_delay 0",
            f"addr add {METADATA_ADDRESS}/32 dev {_BRIDGE}",
            f"addr add {RESOLVER_ADDRESS}/32 dev {_BRIDGE}",
            f"link set {_BRIDGE} up",
        )
        self._route_between_subnets()

    @property
    def path(self) -> str:
        """The namespace as a file, for nsenter; valid in this process's PID namespace."""
        return f"/proc/{os.getpid()}/fd/{self._namespace}"

    def add_gateway(self, address: str, prefix_len: int) -> None:
        """Give the switch the router address of a subnet. Safe to repeat."""
        with self._lock:
            if address not in self._gateways:
                self._ip(f"addr add {address}/{prefix_len} dev {_BRIDGE}")
                self._gateways.add(address)

    def connect(self, pid: int, link: str, address: str, prefix_len: int, gateway: str) -> None:
        """Give the network namespace of ``pid`` an eth0; ``link`` names the switch's end."""
        self.add_gateway(gateway, prefix_len)
        self._ip(
            f"link add {link} type veth peer name eth0 address {_mac(address)} netns {pid}",
            f"link set {link} master {_BRIDGE}",
            f"link set {link} up",
        )
        _ip_in(
            ["nsenter", f"--net=/proc/{pid}/ns/net"],
            "link set lo up",
            f"addr add {address}/{prefix_len} dev eth0",
            "link set eth0 up",
            f"route add default via {gateway}",
        )

    def cut(self, link: str) -> None:
        """Take a node's link away; nothing it sends afterwards arrives. Safe when it is gone already."""
        argv = ["nsenter", f"--net={self.path}", "ip", "link", "del", link]
        subprocess.run(argv, capture_output=True, check=False)

    def listen(self, address: str, port: int) -> socket.socket:
        """A listening TCP socket inside the switch's namespace, usable in this process; raises OSError."""
        return in_thread(lambda: self._bound(socket.SOCK_STREAM, address, port))

    def datagrams(self, address: str, port: int) -> socket.socket:
        """A bound UDP socket inside the switch's namespace; raises OSError."""
        return in_thread(lambda: self._bound(socket.SOCK_DGRAM, address, port))

    def close(self) -> None:
        """Let the namespace go; its interfaces go with the last socket and node in it. Safe to call twice."""
        if self._namespace >= 0:
            os.close(self._namespace)
            self._namespace = -1

    def _route_between_subnets(self) -> None:
        """Forward what goes from one subnet to another, and do not send the sender elsewhere for it."""
        settings = {"ip_forward": 1, "conf/all/send_redirects": 0, f"conf/{_BRIDGE}/send_redirects": 0}
        script = "".join(f"echo {value} >/proc/sys/net/ipv4/{name}\n" for name, value in settings.items())
        argv = ["nsenter", f"--net={self.path}", "sh", "-ec", script]
        result = subprocess.run(argv, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise MachineError(f"the node network does not route: {result.stderr.strip()}")

    def _bound(self, kind: socket.SocketKind, address: str, port: int) -> socket.socket:
        _system("setns", self._namespace, _CLONE_NEWNET)
        made = socket.socket(socket.AF_INET, kind)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((address, port))
            if kind is socket.SOCK_STREAM:
                made.listen(128)
        except OSError:
            made.close()
            raise
        return made

    def _ip(self, *commands: str) -> None:
        _ip_in(["nsenter", f"--net={self.path}"], *commands)


def _mac(address: str) -> str:
    """The hardware address that goes with a private address. A replacement takes its predecessor's place; the
    other nodes would send to the old one until they ask again, which takes them up to a minute."""
    return ":".join(["06", "00", *(f"{int(part):02x}" for part in address.split("."))])


def in_thread(work: Callable[[], _T]) -> _T:
    """Run ``work`` in a thread of its own, whose namespaces it may change: they are the thread's."""
    results: list[_T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name="namespace")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _new_namespace() -> int:
    _system("unshare", _CLONE_NEWNET)
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _system(call: str, *args: int) -> None:
    """A C library call Python 3.10 does not offer (os.unshare and os.setns came with 3.12)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, call)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def _ip_in(prefix: list[str], *commands: str) -> None:
    batch = "".join(f"{command}\n" for command in commands)
    argv = [*prefix, "ip", "-batch", "-"]
    result = subprocess.run(argv, input=batch, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise MachineError(f"the node network could not be set up: {result.stderr.strip()}")
