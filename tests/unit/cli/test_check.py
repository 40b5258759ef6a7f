"""`unbroken check`: a summary of a good file, every problem of a bad one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unbroken import config
from unbroken.cli import check

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "clusters").glob("*.yaml"))


def summary(name: str) -> dict[str, str]:
    (path,) = [path for path in EXAMPLES if path.stem == name]
    return dict(check.rows(config.load(path)))


def test_the_summary_is_short_and_says_what_is_asked_for() -> None:
    shown = summary("everything")
    assert shown["p5"] == ("4 x ml.p5.48xlarge, partition train, at least 2, updated at cron(0 4 ? * 7#1 *)")
    assert shown["network"].endswith("one NAT gateway, spare-zone in usw2-az3")
    storage = "38400 GiB Lustre (PERSISTENT_2 SSD with EFA) at /fsx/shared, 3 folders linked to S3"
    assert shown["storage"].startswith(storage)
    assert shown["home"] == "256 GiB OpenZFS (SINGLE_AZ_HA_2) at /home, delete on destroy"
    assert shown["Slurm"] == "api mode, recovery None, no auto-resume, continuous provisioning"
    assert (shown["metrics"], shown["budget"]) == ("Prometheus create, Grafana create", "$50,000 a month")
    assert shown["outlive a destroy"] == "nothing"


def test_what_is_not_asked_for_is_left_out() -> None:
    assert list(summary("mathstral")) == [
        "cluster", "network", "controller-machine", "worker-group-1", "storage", "encryption", "Slurm", "job",
        "outlive a destroy",
    ]  # fmt: skip


def test_what_outlives_a_destroy() -> None:
    assert summary("mathstral")["outlive a destroy"] == "file system and data bucket, logs, 30 days"
    assert summary("existing-vpc")["outlive a destroy"] == "logs, 30 days"  # the rest is not ours
    assert summary("no-internet")["outlive a destroy"] == "file system and data bucket, key, logs, 30 days"


def test_parts_that_are_there_already_are_named() -> None:
    shown = summary("existing-vpc")
    assert shown["network"] == "vpc-0123456789abcdef0, which is there"
    assert shown["storage"] == "fs-0123456789abcdef0, which is there, at /fsx"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_every_example_in_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check.check_file(str(path), as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["schema_version"], said["ok"], said["cluster"]["name"]) == (1, True, config.load(path).name)


def test_problems_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("name: a_b\nregion: nowhere\n")
    with pytest.raises(config.ConfigError):
        check.check_file(str(path), as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    found = {(each["line"], each["path"]) for each in said["problems"]}
    assert found == {(1, "name"), (1, "worker_groups"), (2, "region")}
    assert set(said["problems"][0]) == {"file", "line", "column", "path", "value", "rule", "hint"}
