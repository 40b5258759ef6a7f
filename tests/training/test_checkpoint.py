"""A damaged, half-written or missing checkpoint costs the steps since the one before it and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
from tests.training.test_resume import resumed_from
from training import runstate
from training.checkpoint import hashes, manifest, retention, transfer
from training.checkpoint.retention import Kept


def flip_a_bit(checkpoint: Path) -> None:
    path = next(checkpoint.glob("__0_*.distcp"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(checkpoint: Path) -> None:
    path = next(checkpoint.glob("__1_*.distcp"))
    path.write_bytes(path.read_bytes()[:-100])


def empty_a_file(checkpoint: Path) -> None:
    next(checkpoint.glob("__0_*.distcp")).write_bytes(b"")


def lose_a_file(checkpoint: Path) -> None:
    next(checkpoint.glob("__1_*.distcp")).unlink()


def lose_the_manifest(checkpoint: Path) -> None:
    (checkpoint / manifest.NAME).unlink()


def empty_the_manifest(checkpoint: Path) -> None:
    (checkpoint / manifest.NAME).write_text("")


def make_the_manifest_a_folder(checkpoint: Path) -> None:
    (checkpoint / manifest.NAME).unlink()
    (checkpoint / manifest.NAME).mkdir()


DAMAGE: dict[Callable[[Path], None], str] = {
    flip_a_bit: "does not have the hash",
    truncate: "bytes, not",
    empty_a_file: "has 0 bytes, not",
    lose_a_file: "is missing",
    lose_the_manifest: "no manifest.json",
    empty_the_manifest: "manifest.json is damaged",
    make_the_manifest_a_folder: "manifest.json cannot be read: Is a directory",
}


def small_checkpoint(root: Path, step: int, settings: Mapping[str, Any] = MappingProxyType({})) -> Path:
    """A checkpoint of plain files: what manifest.py does needs no ranks."""
    aside = manifest.start_writing(root, step)
    for rank in range(2):
        (aside / f"__{rank}_0.distcp").write_bytes(bytes([step, rank]) * 4096)
    files = {path.name: hashes.entry(path) for path in aside.iterdir()}
    content = manifest.Manifest(step=step, tokens=0, samples=0, world=2, settings=dict(settings), files=files)
    return manifest.commit(aside, content)


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_each_damage_is_found_and_named(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = small_checkpoint(tmp_path, 1)
    content = manifest.read(path)
    assert hashes.faults(path, content, content.files) == []
    damage(path)
    try:
        found = "; ".join(hashes.faults(path, manifest.read(path), content.files))
    except ValueError as error:
        found = str(error)
    assert DAMAGE[damage] in found


@pytest.mark.parametrize("damage", [flip_a_bit, lose_the_manifest])
def test_the_one_before_a_damaged_one_is_used(
    finished: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    directory = resumed_from(finished, tmp_path / "job", 8)
    damage(directory / "checkpoints" / "step-00000008")
    assert ranks.train(directory, 2) == [0, 0]
    assert f"Loading checkpoint from {directory}/checkpoints/step-00000004" in ranks.log(directory)
    assert ranks.numbers(directory, 2, 5) == ranks.numbers(finished, 1, 5)
    reason = directory / "checkpoints" / "set-aside" / "step-00000008.reason.txt"
    assert DAMAGE[damage] in reason.read_text()


def test_a_flipped_bit_anywhere_in_a_manifest_is_found(tmp_path: Path) -> None:
    """It holds the place in the data, which no other file does. Blanks between entries may change."""
    path = small_checkpoint(tmp_path, 1)
    whole, text = manifest.read(path), (path / manifest.NAME).read_bytes()
    unnoticed = []
    for place in range(len(text)):
        flipped = bytearray(text)
        flipped[place] ^= 1
        (path / manifest.NAME).write_bytes(flipped)
        try:
            unnoticed += [place] if manifest.read(path) != whole else []
        except ValueError:
            continue
    assert not unnoticed


def test_a_file_that_cannot_be_read_is_a_fault_of_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_checkpoint(tmp_path, 1)
    content = manifest.read(path)

    def hash_of(path: Path) -> str:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(hashes, "hash_of", hash_of)
    (fault, _) = hashes.faults(path, content, sorted(content.files))
    assert fault == "__0_0.distcp cannot be read: Input/output error"


def test_what_was_set_aside_before_stays(tmp_path: Path) -> None:
    for reason in ("first", "second", "third"):
        retention.set_aside(small_checkpoint(tmp_path, 3), reason)
    folder = tmp_path / "set-aside"
    names = ["step-00000003", "step-00000003.2", "step-00000003.3"]
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == names
    assert [(folder / f"{name}.reason.txt").read_text() for name in names] == [
        "first\n",
        "second\n",
        "third\n",
    ]


def test_a_checkpoint_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a machine that loses power keeps: manifest, folder, name, and the folder above."""
    done: list[str] = []
    flush, rename = os.fsync, Path.rename

    def fsync(handle: int) -> None:
        flush(handle)
        name = Path(f"/proc/self/fd/{handle}").readlink().name
        done.append("flushed " + ("manifest" if "manifest" in name else name))

    def renamed(path: Path, target: Path) -> Path:
        done.append(f"renamed {path.name}")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", renamed)
    small_checkpoint(tmp_path, 3)
    aside = ".writing-step-00000003"
    assert done == ["flushed manifest", f"flushed {aside}", f"renamed {aside}", f"flushed {tmp_path.name}"]


def test_a_copied_file_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, flushed = small_checkpoint(tmp_path, 3) / "__0_0.distcp", []
    flush = os.fsync

    def fsync(handle: int) -> None:
        flush(handle)
        flushed.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    monkeypatch.setattr(os, "fsync", fsync)
    transfer.copy(source, tmp_path / "there", hashes.entry(source), None)
    assert flushed == ["there"]


def test_the_library_flushes_what_it_writes() -> None:
    assert ranks.call(library_flushes)


def library_flushes() -> bool:
    import inspect

    from torch.distributed.checkpoint.filesystem import FileSystemWriter

    return inspect.signature(FileSystemWriter).parameters["sync_files"].default is True


def test_without_hashes_a_flipped_bit_is_trained_on(finished: Path, tmp_path: Path) -> None:
    """Negative control: the library itself does not notice, so it is the hashes that protect."""
    directory = resumed_from(finished, tmp_path / "job", 8)
    flip_a_bit(directory / "checkpoints" / "step-00000008")
    assert ranks.train(directory, 2, "without_hashes") == [0, 0]
    assert f"Loading checkpoint from {directory}/checkpoints/step-00000008" in ranks.log(directory)


def test_only_bad_checkpoints_are_an_error_also_the_second_time(finished: Path, tmp_path: Path) -> None:
    directory = resumed_from(finished, tmp_path / "job", 4)
    flip_a_bit(directory / "checkpoints" / "step-00000004")
    for _attempt in range(2):
        assert ranks.train(directory, 2) == [1, 1]
    assert ranks.log(directory).count("every checkpoint is bad") >= 2
    assert "every checkpoint is bad" in str(runstate.final_failure(directory / "run"))
    assert sorted(ranks.metrics(directory, attempt=2)) == []


def test_a_checkpoint_of_other_settings_is_refused_before_its_files_are_read(
    finished: Path, tmp_path: Path
) -> None:
    directory = resumed_from(finished, tmp_path / "job", 4)
    flip_a_bit(directory / "checkpoints" / "step-00000004")
    write_job(directory, context_length=64, seed=7)
    assert ranks.train(directory, 2) == [1, 1]
    others = "made with other settings: context_length was 32 and is 64, seed was 42 and is 7"
    assert f"{directory}/checkpoints/step-00000004: {others}" in ranks.log(directory)
    assert others in str(runstate.final_failure(directory / "run")), "no other start can end better"
    assert "Traceback" not in ranks.log(directory)
    assert not (directory / "checkpoints" / "set-aside").exists()


def test_a_setting_that_only_one_release_knows_is_no_difference(tmp_path: Path) -> None:
    content = manifest.read(small_checkpoint(tmp_path, 1, {"seed": 1, "gone": "x", "dataset": None}))
    content.demand_settings({"new": 3, "seed": 1, "dataset": None}, tmp_path)
    with pytest.raises(manifest.CheckpointError, match='dataset was null and is "mine"\n  hint: restore'):
        content.demand_settings({"new": 3, "seed": 1, "dataset": "mine"}, tmp_path)


def test_an_entry_that_a_later_release_adds_is_passed_over(tmp_path: Path) -> None:
    path = small_checkpoint(tmp_path, 1)
    before = manifest.read(path)
    rewrite(path, later=[1, 2])
    assert manifest.read(path) == before


def test_one_that_another_release_wrote_is_an_error_and_stays_where_it_is(
    finished: Path, tmp_path: Path
) -> None:
    directory = resumed_from(finished, tmp_path / "job", 8)
    newest = directory / "checkpoints" / "step-00000008"
    content = json.loads((newest / manifest.NAME).read_text()) | {"schema_version": 1}
    del content["sha256"]  # which the first version had not
    (newest / manifest.NAME).write_text(json.dumps(content))
    assert ranks.train(directory, 2) == [1, 1]
    assert f"{newest}: manifest.json has schema_version 1, and this release reads 2" in ranks.log(directory)
    assert newest.is_dir() and not (directory / "checkpoints" / "set-aside").exists()


def rewrite(checkpoint: Path, **changes: Any) -> None:
    path = checkpoint / manifest.NAME
    content = json.loads(path.read_text())
    content.pop("sha256")
    path.write_text(manifest.sealed(content | changes))


def test_the_newest_are_kept_and_strange_folders_left_alone(tmp_path: Path) -> None:
    (tmp_path / "step-notes").mkdir()
    for step in (1, 2, 30, 4):
        small_checkpoint(tmp_path, step)
    assert retention.prune(tmp_path, Kept(2)) == []
    assert list(retention.committed(tmp_path)) == [30, 4]
    assert (tmp_path / "step-notes").is_dir()


def test_fewer_than_two_are_never_kept() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        Kept(1)


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    small_checkpoint(tmp_path, 3)
    shutil.copytree(tmp_path / "step-00000003", tmp_path / ".writing-step-00000009")
    assert small_checkpoint(tmp_path, 3).is_dir()
    retention.remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000003"]
