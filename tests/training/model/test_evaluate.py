"""The loss on text that is not trained on: a mean over samples of all ranks, without dropout."""

from __future__ import annotations

import pytest

from tests.training.model.world import together


def evaluated() -> tuple[float, list[bool]]:
    """The loss over two ranks, and whether the model was in training during each batch and afterwards."""
    from types import SimpleNamespace
    from typing import Any

    import torch
    import torch.distributed as dist

    from training.evaluate import evaluate

    model, modes = torch.nn.Linear(1, 1), []

    def loss(batch: Any) -> torch.Tensor:
        modes.append(model.training)
        return torch.tensor(batch)

    stepper: Any = SimpleNamespace(model=model, device=torch.device("cpu"), loss=loss)
    batches: Any = ([(1.0, 2), (2.0, 2)], [(4.0, 2), (9.0, 0)])[dist.get_rank()]
    mean, stop = evaluate(stepper, batches, lambda: None)
    assert stop is None
    return mean, [*modes, model.training]


def test_each_sample_of_each_rank_counts_once_and_nothing_is_dropped() -> None:
    for mean, modes in together(evaluated, 2):
        assert mean == pytest.approx((2 * 1.0 + 2 * 2.0 + 2 * 4.0) / 6)
        assert modes == [False, False, True]
