"""The embedded AWS in this process, one for the whole session: ministack keeps its state in its modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from unbroken.rehearsal.composition import Rehearsal

REGION = "us-west-2"


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
