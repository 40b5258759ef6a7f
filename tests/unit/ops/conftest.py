"""What the tests of the verbs share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from unbroken.ops.interrupts import SIGNALS


@pytest.fixture(autouse=True)
def signals_as_in_a_terminal() -> Iterator[None]:
    """Handled, even where the tests run in the background with signals ignored."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
