"""The generated data and the page are in step with their sources; a row is made of what EC2 says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unbroken.catalog import generate, instance_types
from unbroken.catalog.instance_page import PAGE_FILE, page

ROOT = Path(__file__).resolve().parents[3]


def test_the_accepted_types_are_those_of_the_installed_packages() -> None:
    assert (ROOT / generate.DATA / "accepted.json").read_text(encoding="utf-8") == generate.accepted()


def test_the_page_is_in_step() -> None:
    assert (ROOT / PAGE_FILE).read_text(encoding="utf-8") == page()


def test_the_page_shows_unknown_as_unknown() -> None:
    (line,) = [line for line in page().splitlines() if line.startswith("| `ml.p6e-gb200.36xlarge`")]
    assert line.count("unknown") == 2


def answer(**changes: Any) -> dict[str, Any]:
    """A part of DescribeInstanceTypes, of the shape botocore's model has."""
    return {
        "InstanceType": "p5.48xlarge",
        "VCpuInfo": {"DefaultVCpus": 192, "DefaultCores": 96, "DefaultThreadsPerCore": 2},
        "MemoryInfo": {"SizeInMiB": 2097152},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "GpuInfo": {"Gpus": [{"Name": "H100", "Count": 8, "MemoryInfo": {"SizeInMiB": 81920}}]},
        "NetworkInfo": {
            "NetworkPerformance": "3200 Gigabit",
            "MaximumNetworkCards": 32,
            "Ipv4AddressesPerInterface": 50,
            "EfaInfo": {"MaximumEfaInterfaces": 32},
            "NetworkCards": [{"BaselineBandwidthInGbps": 100.0}] * 32,
        },
        "InstanceStorageInfo": {"TotalSizeInGB": 30400},
    } | changes


def test_a_row() -> None:
    row = dict(zip(instance_types.COLUMNS, generate.row(answer()), strict=True))
    assert row == {
        "vcpus": 192, "memory_mib": 2097152, "architecture": "x86_64", "max_threads_per_core": 2,
        "gpus": 8, "gpu_model": "H100", "gpu_memory_mib": 81920,
        "neuron_devices": 0, "neuron_model": None, "neuron_memory_mib": None,
        "efa_interfaces": 32, "network_cards": 32, "addresses_per_interface": 50,
        "network_gbps": 3200.0, "nvme_gb": 30400,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "cards", "gbps"),
    [
        ("Up to 10 Gigabit", [{"BaselineBandwidthInGbps": 2.5}], 2.5),
        ("16x 200 Gigabit", [{}] * 16, 3200.0),
        ("25 Gigabit", [{}], 25.0),
        ("12.5 Gigabit", [{}], 12.5),
        ("High", [{}], None),
    ],
)
def test_bandwidth(words: str, cards: list[dict[str, float]], gbps: float | None) -> None:
    network = answer()["NetworkInfo"] | {"NetworkPerformance": words, "NetworkCards": cards}
    row = dict(zip(instance_types.COLUMNS, generate.row(answer(NetworkInfo=network)), strict=True))
    assert row["network_gbps"] == gbps


def test_only_wanted_types_are_described() -> None:
    text = generate.described([answer(), answer(InstanceType="x9.large")], "a test", {"ml.p5.48xlarge"})
    document = json.loads(text)
    assert list(document["types"]) == ["ml.p5.48xlarge"] and document["source"] == "a test"


def test_the_files_are_written_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (generate.DATA, PAGE_FILE.parent):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "answer.json").write_text(json.dumps({"InstanceTypes": [answer()]}))
    assert generate.main(["answer.json", "a test"]) == 0
    assert "described.json" in capsys.readouterr().out
    assert "H100" in (tmp_path / generate.DATA / "described.json").read_text()
