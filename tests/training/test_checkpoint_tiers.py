"""Checkpoints on the nodes' disks first and on the shared directory later: what each loss goes on from."""

from __future__ import annotations

import dataclasses
import shutil
import time
from pathlib import Path

import pytest

from tests.training import saves
from tests.training.saves import Run, good, train
from training.checkpoint import hashes, manifest, transfer
from training.checkpoint.manifest import CheckpointError


@pytest.fixture(scope="module")
def undisturbed(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> saves.Result:
    """Eight steps of two ranks."""
    return good(Run(directory=tmp_path_factory.mktemp("undisturbed"), steps=8), 2)


@pytest.fixture(scope="module")
def ahead(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two nodes that ended after step 5: steps 2 and 4 are on the nodes a and b, 2 in job/ too."""
    directory = tmp_path_factory.mktemp("ahead")
    good(dataclasses.replace(on_nodes(directory, "ab"), steps=5, change="never_copied"), 2)
    assert names(directory / "job" / "checkpoints") == ["run-name", "step-00000002"]
    return directory


@pytest.fixture
def place(ahead: Path, tmp_path: Path) -> Path:
    """A copy of that run."""
    shutil.copytree(ahead, tmp_path, dirs_exist_ok=True)
    return tmp_path


def on_nodes(directory: Path, nodes: str) -> Run:
    """A run to step 8 with a rank on each node."""
    return Run(directory=directory / "job", steps=8, nodes=tuple(directory / node for node in nodes))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def node(directory: Path, name: str) -> Path:
    """Where the run's checkpoints are on a node."""
    (found,) = (directory / name).iterdir()
    return found


def after(undisturbed: saves.Result, step: int) -> dict[int, float]:
    return {later: loss for later, loss in undisturbed.losses.items() if later > step}


def test_each_node_has_its_own_ranks_files_only(ahead: Path) -> None:
    assert names(node(ahead, "a") / "step-00000004") == [".metadata", "__0_0.distcp", "manifest.json"]
    assert names(node(ahead, "b") / "step-00000004") == [".metadata", "__1_0.distcp", "manifest.json"]


def test_a_process_that_failed_goes_on_from_the_nodes(place: Path, undisturbed: saves.Result) -> None:
    result = good(on_nodes(place, "ab"), 2)
    assert result.loaded == str(node(place, "a") / "step-00000004")
    assert result.losses == after(undisturbed, 4)
    shared = place / "job" / "checkpoints"
    assert "step-00000008" in names(shared)
    for path in shared.glob("step-*"):
        content = manifest.read(path)
        assert hashes.faults(path, content, content.files) == []
    for each in "ab":  # the one that was loaded stays besides the last two
        assert names(node(place, each)) == [f"step-{step:08d}" for step in (4, 6, 8)]


def test_a_lost_node_goes_on_from_the_shared_directory(place: Path, undisturbed: saves.Result) -> None:
    shutil.rmtree(place / "b")
    result = good(on_nodes(place, "ab"), 2)
    assert result.loaded == str(place / "job" / "checkpoints" / "step-00000002")
    assert result.losses == after(undisturbed, 2)


def test_if_half_a_step_counted_a_lost_node_would_end_the_run(place: Path) -> None:
    """Negative control."""
    shutil.rmtree(place / "b")
    results = train(dataclasses.replace(on_nodes(place, "ab"), change="half_is_enough"), 2)
    assert any(result is None or result.error for result in results)


def test_ranks_in_other_places_get_each_others_files(place: Path, undisturbed: saves.Result) -> None:
    result = good(on_nodes(place, "ba"), 2)
    assert result.loaded == str(node(place, "b") / "step-00000004")
    assert result.losses == after(undisturbed, 4)
    assert not [name for name in names(node(place, "a")) if name.startswith(".")]


def test_without_fetching_they_cannot_go_on(place: Path) -> None:
    """Negative control."""
    results = train(dataclasses.replace(on_nodes(place, "ba"), change="without_fetching"), 2)
    assert any(result is None or result.error for result in results)


def test_more_ranks_and_a_new_node_go_on_from_the_nodes(place: Path, undisturbed: saves.Result) -> None:
    result = good(on_nodes(place, "abc"), 3)
    assert result.loaded == str(node(place, "a") / "step-00000004")
    assert max(abs(loss - undisturbed.losses[step]) for step, loss in result.losses.items()) < 1e-6


def test_damage_on_one_node_sets_the_step_aside_on_all(place: Path, undisturbed: saves.Result) -> None:
    path = node(place, "b") / "step-00000004" / "__1_0.distcp"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    result = good(on_nodes(place, "ab"), 2)
    assert result.loaded == str(node(place, "a") / "step-00000002")
    assert result.losses == after(undisturbed, 2)
    for each in "ab":
        reason = node(place, each) / "set-aside" / "step-00000004.reason.txt"
        assert "__1_0.distcp does not have the hash" in reason.read_text()


def test_a_new_start_is_new_though_the_nodes_remember(place: Path, undisturbed: saves.Result) -> None:
    shutil.rmtree(place / "job")
    result = good(on_nodes(place, "ab"), 2)
    assert result.loaded == ""
    assert result.losses == undisturbed.losses


def test_killed_while_copying_it_goes_on_from_the_nodes(tmp_path: Path, undisturbed: saves.Result) -> None:
    run = on_nodes(tmp_path, "ab")
    assert None in train(dataclasses.replace(run, steps=4, change="killed_copying"), 2)
    result = good(run, 2)
    assert result.loaded == str(node(tmp_path, "a") / "step-00000004")
    assert result.losses == after(undisturbed, 4)
    assert not [name for name in names(tmp_path / "job" / "checkpoints") if name.startswith(".")]


def test_what_was_on_the_nodes_only_is_copied_by_an_attempt_without_a_step(place: Path) -> None:
    result = good(dataclasses.replace(on_nodes(place, "ab"), steps=4), 2)
    assert not result.losses
    assert "step-00000004" in names(place / "job" / "checkpoints")


def test_what_the_run_does_not_go_on_from_leaves_the_nodes(place: Path) -> None:
    shutil.rmtree(place / "b")
    good(dataclasses.replace(on_nodes(place, "ab"), steps=3), 2)
    assert names(node(place, "a")) == ["step-00000002"]


def test_a_step_that_the_nodes_remember_differently_is_none(place: Path, undisturbed: saves.Result) -> None:
    """Parts of two lives of a run do not make a checkpoint."""
    path = node(place, "b") / "step-00000004" / manifest.NAME
    other = dataclasses.replace(manifest.read(path.parent), tokens=99)
    path.write_text(manifest.sealed(dataclasses.asdict(other)))
    result = good(on_nodes(place, "ab"), 2)
    assert result.loaded == str(node(place, "a") / "step-00000002")
    assert result.losses == after(undisturbed, 2)


def test_what_is_being_copied_stays_on_the_nodes_and_the_shared_directory_is_pruned(tmp_path: Path) -> None:
    run = dataclasses.replace(on_nodes(tmp_path, "ab"), steps=16, change="slow_copying")
    result = good(run, 2)
    assert "on the nodes only" not in result.text
    assert result.text.count("Checkpoint copied to") > 1
    assert len(list((tmp_path / "job" / "checkpoints").glob("step-*"))) == 2


def test_no_room_for_the_copy_is_said_and_ends_badly_only_at_the_end(tmp_path: Path) -> None:
    run = dataclasses.replace(on_nodes(tmp_path, "ab"), steps=6, change="no_room_to_copy")
    for result in train(run, 2):
        assert result and max(result.losses) == 6
        assert "Checkpoint of step 6 is on the nodes only: OSError: [Errno 28]" in result.error
    assert names(node(tmp_path, "a")) == ["step-00000004", "step-00000006"]


def test_copying_keeps_to_its_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(bytes(10_000_000))
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    transfer.copy(source, target, hashes.entry(source), 2e6)
    assert clock[0] == pytest.approx(5.0)
    assert target.read_bytes() == source.read_bytes()


def test_without_a_rate_nothing_slows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    source = tmp_path / "source"
    source.write_bytes(bytes(10_000_000))
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    transfer.copy(source, tmp_path / "target", hashes.entry(source), None)
    assert slept == []


@pytest.mark.parametrize(("setting", "rate"), [(2.5, "2500000.0"), (None, "None")])
def test_the_rate_is_the_jobs(tmp_path: Path, setting: float | None, rate: str) -> None:
    run = dataclasses.replace(on_nodes(tmp_path, "ab"), steps=2, change="noting_rates")
    good(dataclasses.replace(run, settings={"local_copy_mb_per_s": setting}), 2)
    assert set((tmp_path / "job" / "rates").read_text().split()) == {rate}


def test_what_is_damaged_is_not_copied(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"as it was written")
    expected = hashes.entry(source)
    source.write_bytes(b"as it is wrotten!")
    with pytest.raises(CheckpointError, match="is damaged"):
        transfer.copy(source, tmp_path / "target", expected, None)
