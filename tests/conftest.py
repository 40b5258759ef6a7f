"""What all tests share: how they are spread over workers, and the embedded AWS.

The embedded AWS is one for each process: ministack keeps its state in its modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from unbroken.rehearsal.composition import Rehearsal

REGION = "us-west-2"


@pytest.hookimpl(tryfirst=True)  # before the workers read the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For two workers: the tests on nodes, which mostly wait, stay together, and so does each other file."""
    for item in items:
        group = "nodes" if item.get_closest_marker("nodes") else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    """A reduced rehearsal's server without its process: every AWS API, and nodes on paper."""
    from unbroken.rehearsal.aws import environment
    from unbroken.rehearsal.aws.process import free_port

    state, port = tmp_path_factory.mktemp("state"), free_port()
    with pytest.MonkeyPatch.context() as patch:
        settings = environment.server(port, state, REGION) | {"LOG_LEVEL": "WARNING"}
        settings.pop("TMPDIR")
        for name, value in settings.items():
            patch.setenv(name, value)
        from unbroken.rehearsal.composition import Rehearsal  # ministack reads its settings now

        running = Rehearsal(state, port, REGION, reduced=True)
        running.start()
        yield running
        running.stop()
