"""What FSx for Lustre offers. Expected values are those of the FSx API reference and user guide."""

from __future__ import annotations

import pytest

from unbroken.catalog.fsx import lustre

OFFERED = [
    ("SCRATCH_1", "SSD", None, [1200, 2400, 3600, 7200]),
    ("SCRATCH_2", "SSD", None, [1200, 2400, 4800]),
    ("PERSISTENT_1", "SSD", 50, [1200, 2400, 4800]),
    ("PERSISTENT_1", "SSD", 200, [1200, 2400, 4800]),
    ("PERSISTENT_1", "HDD", 12, [6000, 12000]),
    ("PERSISTENT_1", "HDD", 40, [1800, 3600]),
    ("PERSISTENT_2", "SSD", 125, [1200, 2400, 4800]),
    ("PERSISTENT_2", "SSD", 1000, [1200, 2400, 4800]),
]


def near(
    deployment: str, storage: str, size: int, throughput: int | None, efa: bool = False
) -> tuple[int, ...]:
    sizes = lustre.capacities(deployment, storage, throughput, efa)
    assert sizes is not None
    return sizes.problem(size)


@pytest.mark.parametrize(("deployment", "storage", "throughput", "sizes"), OFFERED)
def test_sizes_that_are_offered(
    deployment: str, storage: str, throughput: int | None, sizes: list[int]
) -> None:
    for size in sizes:
        assert near(deployment, storage, size, throughput) == ()


@pytest.mark.parametrize(
    ("deployment", "storage", "throughput", "size", "nearest"),
    [
        ("SCRATCH_1", "SSD", None, 4800, (3600, 7200)),
        ("SCRATCH_1", "SSD", None, 3000, (2400, 3600)),
        ("SCRATCH_2", "SSD", None, 3600, (2400, 4800)),
        ("PERSISTENT_1", "HDD", 12, 1200, (6000,)),
        ("PERSISTENT_1", "HDD", 40, 2400, (1800, 3600)),
        ("PERSISTENT_2", "SSD", 250, 1, (1200,)),
        ("PERSISTENT_2", "SSD", 250, 1800, (1200, 2400)),
        ("PERSISTENT_2", "SSD", 250, 0, (1200,)),
        ("PERSISTENT_2", "SSD", 250, -2400, (1200,)),
    ],
)
def test_the_nearest_sizes_of_one_that_is_not(
    deployment: str, storage: str, throughput: int | None, size: int, nearest: tuple[int, ...]
) -> None:
    assert near(deployment, storage, size, throughput) == nearest


@pytest.mark.parametrize(("throughput", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_efa_comes_in_larger_steps(throughput: int, step: int) -> None:
    for size, nearest in ((step, ()), (2400, (step,)), (step + 2400, (step, 2 * step))):
        assert near("PERSISTENT_2", "SSD", size, throughput, efa=True) == nearest


@pytest.mark.parametrize(
    "combination",
    [
        ("PERSISTENT_2", "HDD", 12, False),
        ("PERSISTENT_2", "SSD", 200, False),
        ("PERSISTENT_2", "SSD", None, False),
        ("SCRATCH_2", "SSD", 125, False),
        ("PERSISTENT_1", "SSD", 200, True),
        ("PERSISTENT_2", "INTELLIGENT_TIERING", None, False),
    ],
)
def test_combinations_without_sizes(combination: tuple[str, str, int | None, bool]) -> None:
    assert lustre.capacities(*combination) is None


def test_storage_types_and_throughputs() -> None:
    assert lustre.storage_types("SCRATCH_1") == ("SSD",)
    assert lustre.storage_types("PERSISTENT_1") == ("SSD", "HDD")
    assert lustre.storage_types("PERSISTENT_2") == ("SSD", "INTELLIGENT_TIERING")
    assert lustre.throughputs("SCRATCH_2", "SSD") == ()
    assert lustre.throughputs("PERSISTENT_1", "SSD") == (50, 100, 200)
    assert lustre.throughputs("PERSISTENT_1", "HDD") == (12, 40)
    assert lustre.throughputs("PERSISTENT_2", "SSD") == (125, 250, 500, 1000)
    assert lustre.throughputs("PERSISTENT_2", "INTELLIGENT_TIERING") == ()


def test_metadata() -> None:
    ssd, tiering = lustre.metadata_iops("SSD"), lustre.metadata_iops("INTELLIGENT_TIERING")
    assert all(value in ssd for value in (1500, 3000, 6000, 12000, 24000, 192_000))
    assert (ssd.problem(9000), ssd.problem(18000)) == ((6000, 12000), (12000, 24000))
    assert ssd.problem(204_000) == (192_000,)
    assert 6000 in tiering and 12000 in tiering
    assert (tiering.problem(1500), tiering.problem(18000)) == ((6000,), (12000,))
    assert not lustre.supports_automatic_metadata("INTELLIGENT_TIERING")
    assert not lustre.supports_metadata_settings("PERSISTENT_1")
    with pytest.raises(KeyError):
        lustre.metadata_iops("HDD")


def test_versions() -> None:
    assert lustre.versions("SCRATCH_2") == ("2.10", "2.12", "2.15")
    assert lustre.versions("PERSISTENT_2") == ("2.12", "2.15")
    assert lustre.versions("PERSISTENT_2", metadata_settings=True) == ("2.15",)


def test_tiering_has_its_own_throughput_and_cache() -> None:
    assert lustre.THROUGHPUT_OF_TIERING.problem(6000) == (4000, 8000)
    assert lustre.THROUGHPUT_OF_TIERING.problem(1) == (4000,)
    assert lustre.THROUGHPUT_OF_TIERING.problem(2_000_001) == (2_000_000,)
    assert lustre.read_cache_gib(8000) == (64, 262_144)


def test_the_rule_in_words() -> None:
    assert str(lustre.capacities("PERSISTENT_2", "SSD", 250)) == "1200 or a multiple of 2400"
    assert str(lustre.metadata_iops("SSD")) == "1500, 3000, 6000 or a multiple of 12000 up to 192000"
