"""What can be known beforehand: learning rates, parameter counts, initial weights, the samples' order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.training import ranks
from training.config import JobConfig
from training.model.presets import PRESETS
from training.schedule import learning_rate

SEED_RATES = (
    "0.000006 0.000013 0.000019 0.000025 0.000031 0.000038 0.000044 0.000050 0.000056 0.000063".split()
)


def test_the_first_ten_learning_rates_are_the_seed_jobs() -> None:
    job = JobConfig(learning_rate=1e-4, warmup_fraction=0.0032, num_steps=5000)
    assert [f"{learning_rate(step, job):.6f}" for step in range(1, 11)] == SEED_RATES


def test_the_cosine_falls_from_the_top_to_the_bottom() -> None:
    job = JobConfig()
    rates = [learning_rate(step, job) for step in range(16, 5001)]
    assert rates[0] == 1e-4 and rates[-1] == pytest.approx(1e-5)
    assert rates == sorted(rates, reverse=True)


def test_a_plateau_holds_the_top() -> None:
    job = JobConfig(num_steps=100, warmup_fraction=0.1, plateau_fraction=0.5, lr_schedule="linear")
    assert {learning_rate(step, job) for step in range(10, 61)} == {1e-4}
    assert learning_rate(80, job) == pytest.approx((1e-4 + 1e-5) / 2)


def count_parameters(preset: str) -> int:
    from training.model.build import build

    built = build(PRESETS[preset].shape)
    assert all(parameter.is_meta for parameter in built.parameters())
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize("preset", PRESETS)
def test_parameter_counts(preset: str) -> None:
    counted = ranks.call(count_parameters, preset)
    assert counted == PRESETS[preset].num_parameters == PRESETS[preset].shape.num_parameters
    assert PRESETS["mathstral-7b"].num_parameters == 7_248_023_552


def wrong_count() -> str:
    from training.model.build import build
    from training.model.presets import Shape

    Shape.num_parameters = 123_201  # type: ignore[assignment, method-assign]  # a wrong formula
    try:
        build(PRESETS["tiny"].shape)
    except AssertionError as error:
        return str(error)
    return "built"


def test_another_count_is_refused() -> None:
    assert "parameters, not 123201" in ranks.call(wrong_count)


def initial_values() -> dict[str, float]:
    import torch

    from training.model.build import build
    from training.model.values import allocate, initialise

    shape = replace(PRESETS["tiny"].shape, rope_theta=500.0)
    built = build(shape)
    allocate(built, torch.device("cpu"), torch.device("cpu"))
    initialise(built, shape, 42)
    buffers = dict(built.named_buffers())
    return {
        "norm": float(built.get_parameter("model.norm.weight").min()),
        "spread": float(built.get_parameter("lm_head.weight").std()),
        "rotary_first": float(buffers["model.rotary_emb.inv_freq"][0]),
        "rotary_last": float(buffers["model.rotary_emb.inv_freq"][-1]),
    }


def test_initial_values_are_real_also_of_the_rotary_buffers() -> None:
    found = ranks.call(initial_values)
    assert found["norm"] == 1.0 and found["spread"] == pytest.approx(0.02, rel=0.05)
    assert found["rotary_first"] == 1.0
    assert found["rotary_last"] == pytest.approx(500.0 ** -(14 / 16))


def test_the_first_loss_is_that_of_guessing(finished: Path) -> None:
    import math

    assert ranks.metrics(finished)[1]["loss"] == pytest.approx(math.log(384), abs=0.1)
