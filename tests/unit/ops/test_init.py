"""New cluster files: right for every type in every region, and never in place of one that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken import config
from unbroken.catalog import instance_types, regions
from unbroken.ops import init
from unbroken.ops.errors import CannotRun

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLE = init.example(REPOSITORY, init.DEFAULT_SHAPE)


def made(text: str, **answers: object) -> config.ClusterConfig:
    return config.loads(init.compose(text, init.Answers(**answers)), Path("new.yaml"))  # type: ignore[arg-type]


def offers() -> list[tuple[str, str]]:
    """Each type with a region that has it, or with the default region where no list tells."""
    where = {name: region for region, names in sorted(instance_types.regions().items()) for name in names}
    return [(name, where.get(name, "us-west-2")) for name in instance_types.names()]


def test_the_file_is_right_for_every_type() -> None:
    for name, region in offers():
        zone = f"{regions.zone_id_prefix(region)}-az2"
        cluster = made(EXAMPLE, name="demo", region=region, zone=zone, type=name, count=3)
        group = cluster.worker_groups[0]
        assert (cluster.region, cluster.network.availability_zone_id) == (region, zone)
        assert (group.instance_type, group.num_instances) == (name, 3)


@pytest.mark.parametrize("region", sorted(instance_types.regions()))
def test_the_file_is_right_in_every_region(region: str) -> None:
    """Also where neither the default controller nor the example's workers are."""
    kind = min(instance_types.in_region(region) or ())
    cluster = made(
        EXAMPLE, name="demo", region=region, zone=f"{regions.zone_id_prefix(region)}-az1", type=kind
    )
    assert instance_types.offered(cluster.controller_group.instance_type, region) is True


@pytest.mark.parametrize("shape", init.shapes(REPOSITORY))
def test_every_example_can_be_begun_with(shape: str) -> None:
    text = init.example(REPOSITORY, shape)
    cluster = made(text, name="demo", count=2)
    assert cluster.name == "demo"
    elsewhere = made(text, name="demo", region="us-east-1", zone="use1-az6", type="ml.p5.48xlarge")
    assert (elsewhere.region, elsewhere.worker_groups[0].instance_type) == ("us-east-1", "ml.p5.48xlarge")
    plan = elsewhere.worker_groups[0].training_plan
    assert plan is None or plan.availability_zone_id == "use1-az6"


def test_the_stand_in_is_near_and_has_no_accelerator() -> None:
    assert init.stand_in("ml.m5.12xlarge", "us-west-2") == "ml.m5.12xlarge"
    assert instance_types.get(init.stand_in("ml.p5.48xlarge", "us-west-2")).gpus == 0


def test_without_answers_the_example_is_as_it_is() -> None:
    for shape in init.shapes(REPOSITORY):
        text = init.example(REPOSITORY, shape)
        assert init.compose(text, init.Answers()) == text


def test_an_example_that_there_is_not() -> None:
    with pytest.raises(CannotRun, match="--from smal: there is no such example") as caught:
        init.example(REPOSITORY, "smal")
    assert caught.value.hint == "did you mean small"


def test_the_editors_line_points_at_the_schema(tmp_path: Path) -> None:
    first = [
        init.with_schema(EXAMPLE, REPOSITORY / out, REPOSITORY).split("\n")[0]
        for out in ("a.yaml", "clusters/a.yaml")
    ]
    assert first == [
        "# yaml-language-server: $schema=clusters/cluster.schema.json",
        "# yaml-language-server: $schema=cluster.schema.json",
    ]
    assert "schema" not in init.with_schema(EXAMPLE, tmp_path / "a.yaml", REPOSITORY).split("\n")[0]


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    out = tmp_path / "cluster.yaml"
    init.write("one", out, overwrite=False)
    with pytest.raises(CannotRun, match="is there already"):
        init.write("two", out, overwrite=False)
    assert out.read_text() == "one"
    init.write("two", out, overwrite=True)
    assert (out.read_text(), list(tmp_path.iterdir())) == ("two", [out])


@pytest.mark.parametrize("where", ["missing/cluster.yaml", "file/cluster.yaml"])
def test_where_no_file_can_be(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotRun, match="cannot be written: N"):
        init.write("one", tmp_path / where, overwrite=False)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_link_to_nothing_is_not_followed(tmp_path: Path) -> None:
    out = tmp_path / "cluster.yaml"
    out.symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(CannotRun, match="is there already"):
        init.write("one", out, overwrite=False)
    assert not (tmp_path / "elsewhere.yaml").exists()
