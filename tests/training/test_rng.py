"""The random state of a rank comes back whole: every generator a step may draw from."""

from __future__ import annotations

from collections.abc import Callable

from tests.training import ranks


def drawn() -> dict[str, bool]:
    """Whether each generator draws the same after its state was taken, used up and put back."""
    import random

    import numpy as np
    import torch

    from training import rng

    cpu = torch.device("cpu")
    draws: dict[str, Callable[[], list[float]]] = {
        "torch": lambda: torch.rand(3).tolist(),
        "python": lambda: [random.random() for _ in range(3)],  # noqa: S311  (nothing secret)
        "numpy": lambda: np.random.rand(3).tolist(),
    }
    rng.start(seed=5, rank=1)
    for draw in draws.values():
        draw()  # in the middle of a block of numbers
    state = rng.capture(cpu)
    first = {name: draw() for name, draw in draws.items()}
    rng.start(seed=6, rank=0)
    other = {name: draw() for name, draw in draws.items()}
    rng.restore(state, cpu)
    return {name: draw() == first[name] != other[name] for name, draw in draws.items()}


def test_every_generator_draws_on_where_it_was() -> None:
    assert ranks.call(drawn) == {"torch": True, "python": True, "numpy": True}
