"""What is counted here is counted as the trainer does."""

from __future__ import annotations

import pytest

from training.checkpoint import retention
from training.compute import DEVICES
from training.config import parse
from training.model.presets import PRESETS
from unbroken.catalog.models import BF16_TFLOPS, SHAPES, Shape
from unbroken.config.training import TrainingConfig


def test_the_shapes_are_the_trainers() -> None:
    assert {
        name: Shape(each.num_parameters, each.shape.num_hidden_layers, each.shape.hidden_size)
        for name, each in PRESETS.items()
    } == SHAPES


def test_a_checkpoint_of_seven_billion_parameters() -> None:
    assert SHAPES["mathstral-7b"].checkpoint_bytes == 86_976_282_624


def test_the_gpus_are_the_trainers() -> None:
    """The trainer's names may say the memory too: A100-80GB. It also knows cards that no instance has."""
    cards = ("-PCIE", "-NVL")
    modules = {name: device for name, device in DEVICES.items() if not name.endswith(cards)}
    trainers = {(name.partition("-")[0], device.peak_flops / 1e12) for name, device in modules.items()}
    assert trainers == set(BF16_TFLOPS.items())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"keep_checkpoints": 5},
        {"keep_every": 500},
        {"keep_every": 10},
        {"keep_every": 70, "checkpoint_every": "auto"},
    ],
)
def test_checkpoints_at_once_are_the_trainers(settings: dict[str, object]) -> None:
    job = parse(settings)
    ours = TrainingConfig.model_validate(settings).checkpoints_at_once(job.num_steps)
    assert ours == retention.shared(job).at_once(job.num_steps)
