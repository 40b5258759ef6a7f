"""One embedded AWS for the folder, in this process, with paper nodes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.rehearsal.aws.node_side import LOOPBACK
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.gateway.http import Answer, Server
from unbroken.rehearsal.aws.process import free_port
from unbroken.rehearsal.composition import Rehearsal

REGION = "us-west-2"


@pytest.fixture(scope="session")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    """A reduced rehearsal's server, without its process."""
    state, port = tmp_path_factory.mktemp("state"), free_port()
    with pytest.MonkeyPatch.context() as patch:
        settings = environment.server(port, state, REGION) | {"LOG_LEVEL": "WARNING"}
        settings.pop("TMPDIR")
        for name, value in settings.items():
            patch.setenv(name, value)
        running = Rehearsal(state, port, REGION, reduced=True)
        running.start()
        yield running
        running.stop()


@pytest.fixture
def client(rehearsal: Rehearsal) -> Callable[[str], Any]:
    """botocore clients by service name."""
    return rehearsal.aws.clients.of


@pytest.fixture
def stacks(client: Callable[[str], Any]) -> Stacks:
    return Stacks(client("cloudformation"))


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], int]]:
    """Serves an answer on a loopback port of its own."""
    servers: list[Server] = []

    def start(answer: Answer) -> int:
        listening = socket.create_server((LOOPBACK, 0))
        servers.append(Server(listening, answer, "test"))
        servers[-1].start()
        return int(listening.getsockname()[1])

    yield start
    for server in servers:
        server.stop()
