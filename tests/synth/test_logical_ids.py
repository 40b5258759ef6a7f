"""Logical ids stay, and no change replaces what holds data unless two people meant it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from tests.synth import accept, data_guard
from tests.synth.build import EXAMPLES, Synth, synth


def golden_data() -> data_guard.Data:
    content: data_guard.Data = json.loads(data_guard.GOLDEN.read_text(encoding="utf-8"))
    return content


def test_no_resource_that_holds_data_would_be_replaced(examples: dict[str, Synth]) -> None:
    after = {name: data_guard.data_of(each) for name, each in examples.items()}
    assert data_guard.losses(golden_data(), after) == [], f"if that is meant: make golden ARGS={accept.FLAG}"
    assert golden_data() == after, "accept with: make golden"


def test_data_is_guarded_wherever_there_is_any() -> None:
    guarded = {body["Type"] for each in golden_data().values() for body in each.values()}
    assert guarded == data_guard.HOLDING


def test_a_moved_cluster_is_found(mathstral: Synth, tmp_path: Path) -> None:
    network = mathstral.config.network.model_copy(update={"availability_zone_id": "usw2-az1"})
    moved = synth(mathstral.config.model_copy(update={"network": network}), tmp_path)
    found = data_guard.losses(
        {"mathstral": data_guard.data_of(mathstral)}, {"mathstral": data_guard.data_of(moved)}
    )
    assert "mathstral: network/PrivateSubnet would be replaced" in "\n".join(found)
    assert "'usw2-az4' -> 'usw2-az1'" in "\n".join(found)


def test_a_larger_file_system_is_no_loss_and_another_kind_is(mathstral: Synth) -> None:
    before = {"mathstral": data_guard.data_of(mathstral)}
    after = copy.deepcopy(before)
    file_system = after["mathstral"]["storage/FileSystem"]
    assert "StorageCapacity" not in file_system
    file_system["LustreConfiguration.DeploymentType"] = "SCRATCH_2"
    assert data_guard.losses(before, before) == []
    [found] = data_guard.losses(before, after)
    assert "storage/FileSystem would be replaced: LustreConfiguration.DeploymentType" in found


def test_a_renamed_resource_is_found_and_a_new_one_is_welcome(mathstral: Synth) -> None:
    before = {"mathstral": data_guard.data_of(mathstral)}
    after = copy.deepcopy(before)
    after["mathstral"]["storage/Files"] = after["mathstral"].pop("storage/FileSystem")
    assert data_guard.losses(before, after) == ["mathstral: storage/FileSystem is gone"]
    assert data_guard.losses(after, before | {"mathstral": before["mathstral"] | after["mathstral"]}) == []


def test_accepting_refuses_a_loss_until_told(
    mathstral: Synth, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {"mathstral": data_guard.data_of(mathstral)}
    data["mathstral"]["storage/Former"] = {"Type": "AWS::FSx::FileSystem"}
    golden = tmp_path / "data.json"
    golden.write_text(json.dumps(data), encoding="utf-8")
    monkeypatch.setattr(data_guard, "GOLDEN", golden)
    monkeypatch.setattr(accept, "EXAMPLES", {"mathstral": EXAMPLES["mathstral"]})
    written: list[object] = []
    monkeypatch.setattr(accept, "_write", written.append)
    assert accept.main([]) == 1
    assert "mathstral: storage/Former is gone" in capsys.readouterr().err
    assert not written
    assert accept.main([accept.FLAG]) == 0
    assert written
