"""What the tests of the embedded AWS share; the server itself is the session's ``rehearsal``."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.rehearsal.aws.empty import empty
from tests.rehearsal.aws.node_side import LOOPBACK
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.failures import Failures
from unbroken.rehearsal.aws.gateway.http import Answer, Server
from unbroken.rehearsal.composition import Rehearsal


@pytest.fixture(scope="module", autouse=True)
def empty_account(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing is there when a module begins or after it has ended; for modules that use the server."""
    if not any("rehearsal" in item.fixturenames for item in _tests_of(request)):
        yield
        return
    rehearsal = request.getfixturevalue("rehearsal")
    empty(rehearsal)
    yield
    empty(rehearsal)


def _tests_of(request: pytest.FixtureRequest) -> list[pytest.Function]:
    return [
        item for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    ]  # fmt: skip


@pytest.fixture
def client(rehearsal: Rehearsal) -> Callable[[str], Any]:
    """botocore clients by service name."""
    return rehearsal.aws.clients.of


@pytest.fixture
def stacks(client: Callable[[str], Any]) -> Stacks:
    return Stacks(client("cloudformation"))


@pytest.fixture
def failures(rehearsal: Rehearsal) -> Iterator[Failures]:
    """Failures to come, cleared afterwards."""
    yield rehearsal.aws.failures
    rehearsal.aws.failures.clear()


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
