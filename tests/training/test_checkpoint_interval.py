"""How many steps lie between two checkpoints, held against a reckoning that uses no formula of ours."""

from __future__ import annotations

import math

import pytest

from training.checkpoint.interval import FIRST_STEPS, LONGEST_SECONDS, Interval, Measured, best_seconds


def expected_cost(interval: float, cost: float, between: float) -> float:
    """Seconds needed for a second of work when failures come at random (exponentially): a part of work and
    its save are begun again after each failure until they pass."""
    return between * math.expm1((interval + cost) / between) / interval


@pytest.mark.parametrize(("cost", "between"), [(5.0, 5_702_400.0), (72.0, 356_400.0), (60.0, 3_600.0)])
def test_no_other_interval_is_better_by_much(cost: float, between: float) -> None:
    chosen = expected_cost(best_seconds(cost, between), cost, between)
    guess = math.sqrt(cost * between)
    best = min(expected_cost(guess * 1.01**power, cost, between) for power in range(-200, 200))
    assert chosen <= best * 1.001


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_an_interval_four_times_off_is_worse(factor: float) -> None:
    """Negative control: the reckoning above can tell."""
    best = best_seconds(72.0, 36_000.0)
    assert expected_cost(factor * best, 72.0, 36_000.0) > 1.01 * expected_cost(best, 72.0, 36_000.0)


def test_a_save_that_costs_more_than_failures_do_is_made_as_often_as_they_come() -> None:
    assert best_seconds(100.0, 40.0) == 40.0


def test_a_given_number_of_steps_stays() -> None:
    interval = Interval(50, 1e-4, nodes=4)
    assert [step for step in range(1, 160) if interval.due(step)] == [50, 100, 150]
    assert interval.learn(Measured(9.0, 90.0, 1.0)) is None and interval.steps == 50


def test_it_is_planned_from_what_was_measured_and_again_when_that_doubles() -> None:
    interval = Interval("auto", 1 / 100, nodes=4)  # a failure every 25 hours
    assert [step for step in range(21) if interval.due(step)] == [FIRST_STEPS]
    interval.saved(20)
    said = interval.learn(Measured(stall=2.0, save=10.0, step=3.0))
    assert said and "4 nodes with a failure every 25.00 h (assumed)" in said
    assert interval.steps == round(best_seconds(2.0, 90_000.0) / 3.0)
    before = interval.steps
    assert interval.learn(Measured(3.0, 19.0, 5.0)) is None and interval.steps == before
    assert interval.learn(Measured(4.1, 10.0, 3.0)) and interval.steps > before
    assert not interval.due(20 + interval.steps - 1) and interval.due(20 + interval.steps)


def test_it_is_bounded_below_by_a_whole_save_and_above_by_two_hours() -> None:
    often = Interval("auto", 3600.0, nodes=1)  # a failure a second
    said = often.learn(Measured(stall=0.5, save=30.0, step=0.1))
    assert often.steps == 300 and said and "bounded to 30.0 s" in said
    never = Interval("auto", 1e-9, nodes=1)
    never.learn(Measured(stall=1.0, save=30.0, step=2.0))
    assert never.steps == LONGEST_SECONDS / 2
