"""The shapes are those of the trainer."""

from __future__ import annotations

from training.model.presets import PRESETS
from unbroken.catalog.models import SHAPES, Shape


def test_the_shapes_are_the_trainers() -> None:
    assert {
        name: Shape(each.num_parameters, each.shape.num_hidden_layers, each.shape.hidden_size)
        for name, each in PRESETS.items()
    } == SHAPES


def test_a_checkpoint_of_seven_billion_parameters() -> None:
    assert SHAPES["mathstral-7b"].checkpoint_bytes == 86_976_282_624
