"""Doing one thing to many nodes at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def together(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply a function to all items at once and wait; results in the items' order, or the first exception.

    The threads end with the process. Those of a ThreadPoolExecutor would be waited for at its end, and a
    node's script may take minutes.
    """
    return [future.result() for future in [_started(work, item) for item in items]]


def _started(work: Callable[[Item], Result], item: Item) -> Future[Result]:
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work(item))
        except BaseException as error:
            future.set_exception(error)  # raised where the result is waited for

    threading.Thread(target=run, name="hyperpod-node", daemon=True).start()
    return future
