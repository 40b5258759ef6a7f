"""The cost of a run, by hand."""

from __future__ import annotations

import pytest

from tests.unit.ops.cost.bench import TODAY, cluster, prices
from unbroken.ops.cost import run
from unbroken.ops.cost.estimate import Total, estimate
from unbroken.ops.errors import CannotRun

HOUR = Total(100.0, at_least=False, about=False, unknown=False, prepaid=False)
SHORT = {"num_steps": 1000, "context_length": 4096, "train_batch_size": 2}


def test_the_budget() -> None:
    """Two nodes of eight GPUs: 16 ranks, each two samples of 4096 tokens a step."""
    budget = run.budget(cluster(training=SHORT))
    assert (budget.ranks, budget.tokens_per_step, budget.steps) == (16, 131_072, 1000)
    assert budget.tokens == 131_072_000


def test_nodes_without_gpus_have_one_rank() -> None:
    group = {"name": "w", "instance_type": "ml.c5.4xlarge", "num_instances": 3}
    assert run.budget(cluster(worker_groups=[group], training=SHORT)).ranks == 3


def test_at_a_measured_speed() -> None:
    """16 ranks at 2048 tokens/s: 131,072,000 / 32,768 = 4000 s = 1.1111 h; 111.11 dollars at 100 an hour."""
    cost = run.at_speed(cluster(training=SHORT), HOUR, 2048)
    assert cost.hours == pytest.approx(4000 / 3600)
    assert cost.usd == pytest.approx(111.1111, abs=1e-3)
    assert cost.usd_per_step == pytest.approx(0.1111111)
    assert cost.usd_per_billion_tokens == pytest.approx(111.1111 / 0.131072, rel=1e-5)


def test_at_a_part_of_the_peak() -> None:
    """6 * 7,248,023,552 + 12 * 32 * 4096 * 4096 = 49,930,592,256 operations a token; 40 % of 989e12."""
    config = cluster(training=SHORT)
    assert run.flops_per_token(config) == 49_930_592_256
    cost = run.at_utilization(config, HOUR, 0.4)
    assert cost.tokens_per_second == pytest.approx(0.4 * 989e12 / 49_930_592_256)
    assert "40% of 989 TFLOP/s" in cost.basis and "H100" in cost.basis


@pytest.mark.parametrize(
    ("instance", "training"),
    [("ml.c5.4xlarge", SHORT), ("ml.g5.8xlarge", SHORT), ("ml.p5.48xlarge", SHORT | {"precision": "fp32"})],
)
def test_without_a_known_peak_the_speed_must_be_given(instance: str, training: dict[str, object]) -> None:
    group = {"name": "w", "instance_type": instance, "num_instances": 2}
    config = cluster(worker_groups=[group], training=training)
    with pytest.raises(CannotRun) as caught:
        run.at_utilization(config, HOUR, 0.4)
    assert "--tokens-per-second" in caught.value.hint


def test_the_hour_is_all_that_is_up() -> None:
    hour = estimate(cluster(), prices(), TODAY).up
    cost = run.at_speed(cluster(training=SHORT), hour, 2048)
    assert cost.usd == pytest.approx(125.555 * 4000 / 3600)
