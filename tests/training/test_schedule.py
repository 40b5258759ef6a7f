"""The course of the learning rate under each schedule; the published first rates are in test_numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from training.config import JobConfigError, parse
from training.schedule import learning_rate

TOP, BOTTOM = 1e-4, 1e-5


def rates(**values: Any) -> list[float]:
    """Rates of steps 1 to 100, with a warm-up of 10 steps."""
    base = {"num_steps": 100, "warmup_fraction": 0.1}
    job = parse({**base, **values})
    return [learning_rate(step, job) for step in range(1, 101)]


@pytest.mark.parametrize("schedule", ["cosine", "linear", "exponential", "constant"])
def test_each_rises_alike_and_ends_where_it_should(schedule: str) -> None:
    found = rates(lr_schedule=schedule)
    assert found[:10] == pytest.approx([TOP * step / 10 for step in range(1, 11)])
    assert found[-1] == pytest.approx(TOP if schedule == "constant" else BOTTOM)
    assert found[9:] == sorted(found[9:], reverse=True)


def test_halfway_the_forms_differ() -> None:
    halfway = {kind: rates(lr_schedule=kind)[54] for kind in ("cosine", "linear", "exponential")}
    middle = (TOP + BOTTOM) / 2
    assert halfway["cosine"] == pytest.approx(middle) and halfway["linear"] == pytest.approx(middle)
    assert halfway["exponential"] == pytest.approx((TOP * BOTTOM) ** 0.5)
    assert rates(lr_schedule="cosine")[30] > rates(lr_schedule="linear")[30]


def test_warm_up_stable_decay() -> None:
    found = rates(lr_schedule="plateau", plateau_fraction=0.7)
    assert set(found[9:80]) == {TOP}
    assert found[90] == pytest.approx(TOP + (BOTTOM - TOP) * 11 / 20)
    assert found[-1] == pytest.approx(BOTTOM)


def test_a_decay_shorter_than_the_run_stays_at_the_bottom() -> None:
    found = rates(lr_decay_steps=50)
    assert found[4] == TOP, "the warm-up is a part of the decay's steps"
    assert found[49:] == pytest.approx([BOTTOM] * 51) and found[48] > 1.0001 * BOTTOM


def test_a_warm_up_that_fills_the_run_has_no_decay() -> None:
    assert rates(warmup_fraction=0.99, plateau_fraction=0.01)[-1] == TOP


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"lr_schedule": "plateau"}, "0 leaves lr_schedule plateau without its plateau"),
        ({"lr_schedule": "exponential", "min_learning_rate": 0}, "never reached by exponential decay"),
        ({"lr_schedule": "cosin"}, "'cosin' is not offered"),
    ],
)
def test_schedules_that_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(JobConfigError, match=said):
        rates(**values)


def test_no_rank_ever_gathers_a_whole_state() -> None:
    """Gathering it on one rank is what times out or runs out of memory; export.py reads it piece by piece."""
    root = Path(__file__).parents[2] / "training"
    asks = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "full_state_dict" in path.read_text().lower()
    ]
    assert asks == []
