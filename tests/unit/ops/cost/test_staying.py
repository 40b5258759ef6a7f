"""What costs on after a destroy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.ops.cost.bench import REGION, TODAY, cluster
from unbroken.catalog.prices import Price
from unbroken.ops.cost import kept_prices
from unbroken.ops.cost.staying import Cost, staying


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    kept_prices.keep(
        [
            Price("lustre:PERSISTENT_2:SSD:250", 0.2, REGION, TODAY, "a test"),
            Price("kms-key", 1.0, "us-east-1", TODAY, "a test"),
        ],
        env,
    )
    return env


def costs(env: dict[str, str], **changes: object) -> dict[str, Cost]:
    return staying(cluster(**changes), env, TODAY)


def test_the_file_system_that_is_kept(env: dict[str, str]) -> None:
    """2400 GiB at 0.2 a month."""
    words, month = costs(env)["AWS::FSx::FileSystem"]
    assert words == "$480.00 a month" and month == pytest.approx(480)


def test_with_a_home_of_unknown_price_it_is_a_least(env: dict[str, str]) -> None:
    assert costs(env, home={})["AWS::FSx::FileSystem"] == ("at least $480.00 a month", None)


def test_nothing_known_is_unknown(env: dict[str, str]) -> None:
    storage = {"deployment_type": "SCRATCH_1", "capacity_gib": 1200}
    assert costs(env, storage=storage)["AWS::FSx::FileSystem"] == ("unknown", None)


def test_another_regions_price_is_about(env: dict[str, str]) -> None:
    words, month = costs(env, encryption={"kms_key": "create"})["AWS::KMS::Key"]
    assert words == "about $1.00 a month" and month == pytest.approx(1)


def test_what_is_not_there_or_free_costs_nothing(env: dict[str, str]) -> None:
    found = costs(env)
    assert found["AWS::KMS::Key"] == ("$0.00 a month", 0)
    assert found["AWS::EC2::VPC"] == ("nothing", 0)


def test_what_goes_by_use_has_no_figure(env: dict[str, str]) -> None:
    assert costs(env)["AWS::S3::Bucket"] == ("by the GB stored", None)
