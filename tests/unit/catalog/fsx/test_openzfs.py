"""What FSx for OpenZFS offers. Expected values are those of the FSx API reference."""

from __future__ import annotations

import pytest

from unbroken.catalog.fsx import openzfs


@pytest.mark.parametrize(
    ("deployment", "good", "bad", "near"),
    [
        ("SINGLE_AZ_1", 64, 160, (128, 256)),
        ("SINGLE_AZ_HA_1", 4096, 5120, (4096,)),
        ("SINGLE_AZ_2", 160, 64, (160,)),
        ("SINGLE_AZ_HA_2", 10240, 128, (160,)),
        ("MULTI_AZ_1", 3840, 4096, (3840, 5120)),
    ],
)
def test_throughput(deployment: str, good: int, bad: int, near: tuple[int, ...]) -> None:
    assert openzfs.throughput_problem(deployment, good) == ()
    assert openzfs.throughput_problem(deployment, bad) == near


def test_all_throughputs() -> None:
    """As the API reference lists them."""
    assert openzfs.throughputs("SINGLE_AZ_1") == (64, 128, 256, 512, 1024, 2048, 3072, 4096)
    assert openzfs.throughputs("MULTI_AZ_1") == (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240)


def test_capacity() -> None:
    assert openzfs.capacity_problem(64) == openzfs.capacity_problem(524_288) == ()
    assert openzfs.capacity_problem(63) == (64,)
    assert openzfs.capacity_problem(600_000) == (524_288,)


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(KeyError):
        openzfs.throughputs("SINGLE_AZ_3")
