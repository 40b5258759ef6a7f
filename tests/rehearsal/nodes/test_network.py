"""The node network: sockets inside it, and none outside. Needs root."""

from __future__ import annotations

import contextlib
import errno
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines
from unbroken.rehearsal.nodes.network import METADATA_ADDRESS, Network

pytestmark = pytest.mark.nodes
FETCH = (
    "import socket,sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(9).decode())"
)

REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 3)
except ConnectionRefusedError:
    print("there")
"""


@contextlib.contextmanager
def empty_node() -> Iterator[int]:
    """A process in a network namespace of its own; its number."""
    argv = ["unshare", "--net", "--kill-child", "sh", "-c", "echo ready; exec cat"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process.pid
        process.kill()


def answer_once(listener: socket.socket) -> threading.Thread:
    """Greet the first caller."""

    def serve() -> None:
        caller, _ = listener.accept()
        with caller:
            caller.sendall(b"hello")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(("address", "port"), [("10.0.128.1", 9600), (METADATA_ADDRESS, 80)])
def test_a_node_reaches_what_the_server_listens_on(
    machines: NamespaceMachines, node: NamespaceMachine, address: str, port: int
) -> None:
    with machines.network.listen(address, port) as listener:
        thread = answer_once(listener)
        result = node.run(["python3", "-c", FETCH, address, str(port)], timeout=10)
        assert result.stdout == "hello\n", result.stderr
        thread.join(5)


def test_the_host_does_not_reach_it(machines: NamespaceMachines, node: NamespaceMachine) -> None:
    with machines.network.listen("10.0.128.1", 9601) as listener:
        listener.settimeout(0.5)
        with contextlib.suppress(OSError), socket.socket() as outside:
            outside.settimeout(0.2)
            outside.connect(("10.0.128.1", 9601))  # whatever answers on the host's network, it is not ours
        with pytest.raises(TimeoutError):
            listener.accept()


def test_an_address_of_the_host_is_not_the_networks(machines: NamespaceMachines) -> None:
    with pytest.raises(OSError) as refused:
        machines.network.listen("192.0.2.1", 80)
    assert refused.value.errno == errno.EADDRNOTAVAIL


def test_the_host_gets_no_interface(node: NamespaceMachine) -> None:
    assert not {name for _, name in socket.if_nameindex() if name.startswith(("node", "br0"))}


def test_two_networks_with_the_same_addresses_do_not_collide() -> None:
    networks = Network(), Network()
    listeners = []
    for network in networks:
        network.add_gateway("10.0.128.1", 17)
        network.add_gateway("10.0.128.1", 17)
        listeners.append(network.listen("10.0.128.1", 9600))
    for listener, network in zip(listeners, networks, strict=True):
        listener.close()
        network.close()
        network.close()


def test_a_node_in_the_place_of_another_is_reached_at_once() -> None:
    network = Network()

    def connect(pid: int, link: str, address: str) -> None:
        network.connect(pid, link, address, 17, "10.0.128.1")

    def reached(pid: int) -> bool:
        argv = ["nsenter", f"--net=/proc/{pid}/ns/net", "python3", "-c", REACH, "10.0.128.11"]
        return "there" in subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    with empty_node() as one, empty_node() as old, empty_node() as new:
        connect(one, "one", "10.0.128.10")
        connect(old, "two", "10.0.128.11")
        assert reached(one)
        network.cut("two")
        connect(new, "three", "10.0.128.11")
        assert reached(one)
    network.close()
