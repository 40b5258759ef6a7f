"""The estimate of saved activations against what the model's forward pass really leaves in memory."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.training import ranks
from training.config import JobConfig, parse
from training.model.presets import PRESETS, Shape
from training.plan import memory

ROWS, LENGTH = 2, 64
WAYS = (False, True, "selective")
OTHERS: tuple[dict[str, Any], ...] = ({}, {"intermediate_size": 320, "num_key_value_heads": 4})
SHAPES = [
    dataclasses.replace(
        PRESETS["tiny"].shape,
        attention_dropout=0.0,
        residual_dropout=0.0,
        embedding_dropout=0.0,
        num_hidden_layers=6,
        **other,
    )
    for other in OTHERS
]


def job(way: Any, precision: str) -> JobConfig:
    values = {"activation_checkpointing": way, "precision": precision}
    return parse({"preset": "tiny", "context_length": LENGTH, **values})


def left_by_forward(shape: Shape, config: JobConfig) -> int:
    """Bytes of what a forward pass keeps for the backward pass, parameters left out."""
    import gc

    import torch

    from training.model.build import build
    from training.model.shard import _wrap_layers
    from training.model.values import allocate, initialise

    gc.collect()
    cpu = torch.device("cpu")
    model = build(shape)
    allocate(model, cpu, cpu)
    initialise(model, shape, 1)
    model.to(torch.bfloat16 if config.precision == "bf16" else torch.float32)
    _wrap_layers(model, config, "cpu")
    kept: list[torch.Tensor] = []
    # nothing is given back: there is no backward pass here, and a tensor that keeps itself is never freed
    with torch.autograd.graph.saved_tensors_hooks(lambda each: kept.append(each.detach()), _unused):
        logits = model(input_ids=torch.randint(0, 256, (ROWS, LENGTH))).logits
    # selective checkpointing keeps results in a store of its own
    kept += [each.val for each in gc.get_objects() if type(each).__name__ == "_VersionWrapper"]
    storages = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in kept}
    for parameter in (*model.parameters(), logits):
        storages.pop(parameter.untyped_storage().data_ptr(), None)
    return sum(storages.values())


def _unused(_packed: Any) -> Any:
    raise AssertionError


def all_left() -> dict[tuple[int, Any, str], int]:
    return {
        (number, way, precision): left_by_forward(shape, job(way, precision))
        for number, shape in enumerate(SHAPES)
        for way in WAYS
        for precision in ("fp32", "bf16")
    }


@pytest.fixture(scope="module")
def measured() -> dict[tuple[int, Any, str], int]:
    result: dict[tuple[int, Any, str], int] = ranks.call(all_left)
    return result


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_saved_activations_are_as_estimated(
    measured: dict[tuple[int, Any, str], int], number: int, way: Any, precision: str
) -> None:
    config, shape = job(way, precision), SHAPES[number]
    count, tokens = memory.number_bytes(config), ROWS * LENGTH
    layers = shape.num_hidden_layers * memory.kept_activations(shape, config, tokens, count)
    estimated = layers + memory.edge_activations(shape, tokens, count)
    assert measured[number, way, precision] == pytest.approx(estimated, rel=0.06)
