"""Saves that are killed, find no room or are slow; resumes on other numbers of ranks."""

from __future__ import annotations

import dataclasses
import subprocess
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training import ranks, saves
from tests.training.saves import Run, good, train

DROPOUT = {"residual_dropout": 0.1, "embedding_dropout": 0.1}


@pytest.fixture(scope="module")
def undisturbed(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> saves.Result:
    """Eight steps of two ranks with dropout."""
    run = Run(directory=tmp_path_factory.mktemp("undisturbed"), steps=8, settings=DROPOUT)
    return good(run, 2)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("killed_staging", 2),
        ("killed_writing", 2),
        ("killed_hashing", 2),
        ("killed_in_manifest", 2),
        ("killed_before_rename", 2),
        ("killed_after_rename", 4),
        ("killed_pruning", 6),
    ],
)
def test_a_run_killed_anywhere_in_a_save_goes_on_bit_for_bit(
    undisturbed: saves.Result, tmp_path: Path, point: str, left: int
) -> None:
    run = Run(directory=tmp_path, steps=8, change=point, settings=DROPOUT)
    assert None in train(run, 2)
    result = good(dataclasses.replace(run, change=""), 2)
    assert result.loaded.endswith(f"/step-{left:08d}")
    assert result.losses == {step: undisturbed.losses[step] for step in range(left + 1, 9)}
    assert names(tmp_path / "checkpoints") == sorted({f"step-{step:08d}" for step in (left, 6, 8)})


def test_without_a_name_of_its_own_a_killed_save_looks_whole(tmp_path: Path) -> None:
    """Negative control: the rename at the end is what protects."""
    run = Run(directory=tmp_path, change="without_own_name")
    assert None in train(run, 2)
    again = train(dataclasses.replace(run, change=""), 2)
    assert all(result and result.error for result in again)


def test_other_numbers_of_ranks_follow_the_same_curve(tmp_path: Path) -> None:
    whole = good(Run(directory=tmp_path / "whole", steps=8), 4)
    losses: dict[int, float] = {}
    for world, steps in ((4, 2), (3, 4), (2, 6), (4, 8)):
        result = good(Run(directory=tmp_path / "parts", steps=steps), world)
        losses |= result.losses
    assert losses.keys() == whole.losses.keys()
    assert max(abs(losses[step] - whole.losses[step]) for step in losses) < 1e-6
    assert "Saved by 2 ranks, 4 go on" in result.text


def test_without_the_moments_the_curve_is_left(tmp_path: Path) -> None:
    """Negative control."""
    whole = good(Run(directory=tmp_path / "whole", steps=4), 2)
    run = Run(directory=tmp_path / "parts", steps=2)
    good(run, 2)
    lame = good(dataclasses.replace(run, steps=4, change="without_moments"), 2)
    assert abs(lame.losses[4] - whole.losses[4]) > 1e-6


def test_training_goes_on_while_a_checkpoint_is_written(undisturbed: saves.Result, tmp_path: Path) -> None:
    run = Run(directory=tmp_path, steps=3, change="slow_writing", settings=DROPOUT)
    good(run, 2)
    result = good(dataclasses.replace(run, steps=8, change=""), 2)
    assert result.loaded.endswith("/step-00000002")
    assert result.losses == {step: undisturbed.losses[step] for step in range(3, 9)}


def test_a_state_not_copied_aside_is_another_one_when_it_is_written(
    undisturbed: saves.Result, tmp_path: Path
) -> None:
    """Negative control."""
    run = Run(directory=tmp_path, steps=3, change="shared_state", settings=DROPOUT)
    good(run, 2)
    result = good(dataclasses.replace(run, steps=8, change=""), 2)
    assert result.losses != {step: undisturbed.losses[step] for step in range(3, 9)}


def test_a_save_without_room_costs_that_checkpoint_only(undisturbed: saves.Result, tmp_path: Path) -> None:
    run = Run(directory=tmp_path, steps=5, change="no_room_in_second_save", settings=DROPOUT)
    failed = train(run, 2)
    assert all(each and "the last checkpoint could not be saved" in each.error for each in failed)
    assert failed[0] and "Checkpoint of step 4 could not be saved: rank 1: OSError" in failed[0].text
    assert names(tmp_path / "checkpoints") == ["step-00000002"]
    result = good(dataclasses.replace(run, steps=8, change=""), 2)
    assert result.losses == {step: undisturbed.losses[step] for step in range(3, 9)}


def test_if_a_save_without_room_mattered_the_run_would_end(tmp_path: Path) -> None:
    """Negative control. One rank learns of it first, and the other that this one has gone."""
    results = train(Run(directory=tmp_path, steps=8, change="failure_that_matters"), 2)
    assert all(result and result.error and max(result.losses) < 8 for result in results)
    assert any(result and "no checkpoint, no training" in result.error for result in results)


def test_without_giving_back_a_failed_save_would_keep_its_room(tmp_path: Path) -> None:
    """Negative control."""
    train(Run(directory=tmp_path, steps=5, change="nothing_given_back"), 2)
    assert ".writing-step-00000004" in names(tmp_path / "checkpoints")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[int]:
    """A process that sees a memory file system with room for one checkpoint and a half as tmp_path/job."""
    (tmp_path / "job").mkdir()
    mount = f"mount -t tmpfs -o size=1500k none {tmp_path}/job && echo mounted && cat"
    command = ["unshare", "--mount", "sh", "-c", mount]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        if process.stdout.readline() != b"mounted\n":
            pytest.skip("no right to mount: the limit on the size of a file stands for it")
        yield process.pid
        process.stdin.close()


def test_a_disk_that_is_full_in_mid_save_costs_that_checkpoint_only(
    undisturbed: saves.Result, tmp_path: Path, small_disk: int
) -> None:
    run = Run(directory=tmp_path / "job", steps=5, change="blind_to_room", settings=DROPOUT, joins=small_disk)
    failed = train(run, 2)
    assert failed[0] and "the last checkpoint could not be saved" in failed[0].error
    assert "No space left on device" in failed[0].text and "could not be saved: rank" in failed[0].text
    result = good(dataclasses.replace(run, steps=3), 2)
    assert result.loaded.endswith("/step-00000002")
    assert result.losses == {3: undisturbed.losses[3]}
    (refused, _) = train(dataclasses.replace(run, change=""), 2)
    assert refused and "are needed for 3 checkpoints more" in refused.error


def failure_in_words() -> str:
    from torch.distributed.checkpoint.api import CheckpointException

    from training.checkpoint.group import words

    stack = traceback.StackSummary()
    gone = FileNotFoundError(2, "No such file or directory", "/gone/__1_0.distcp")
    return words(CheckpointException("write", {1: (gone, stack), 0: (OSError(5, "I/O error"), stack)}))


def test_a_failed_save_names_ranks_and_paths() -> None:
    assert ranks.call(failure_in_words) == (
        "rank 0: OSError: [Errno 5] I/O error; "
        "rank 1: FileNotFoundError: [Errno 2] No such file or directory: '/gone/__1_0.distcp'"
    )


def test_room_that_comes_back_is_used(undisturbed: saves.Result, tmp_path: Path) -> None:
    run = Run(directory=tmp_path, steps=8, change="no_room_in_second_save", settings=DROPOUT)
    result = good(run, 2)
    assert result.losses == undisturbed.losses
    assert names(tmp_path / "checkpoints") == ["step-00000006", "step-00000008"]


def test_the_third_failed_save_in_a_row_ends_the_run(tmp_path: Path) -> None:
    results = train(Run(directory=tmp_path, steps=12, change="no_room_after_first_save"), 2)
    for result in results:
        assert result and "3 checkpoints in a row could not be saved" in result.error
        assert max(result.losses) == 10
    assert names(tmp_path / "checkpoints") == ["step-00000002"]


def test_room_is_asked_for_before_the_first_step_with_both_numbers(tmp_path: Path) -> None:
    for result in train(Run(directory=tmp_path, change="tiny_disk"), 2):
        assert result and not result.losses
        assert "2.000 MB free, and 4.221 MB are needed for 4 checkpoints more" in result.error


def test_unasked_a_run_would_start_without_room(tmp_path: Path) -> None:
    """Negative control."""
    assert good(Run(directory=tmp_path, steps=2, change="tiny_disk_unasked"), 2).losses


def test_as_many_are_there_at_once_as_room_is_asked_for(tmp_path: Path) -> None:
    run = Run(directory=tmp_path, steps=3)
    good(run, 2)
    good(dataclasses.replace(run, steps=12, change="counting"), 2)
    counted = [int(line) for line in (tmp_path / "counted").read_text().split()]
    assert max(counted) == 4, "two that are kept, the one it started from, the one just written"
    assert names(tmp_path / "checkpoints") == [f"step-{step:08d}" for step in (2, 10, 12)]


def test_room_is_asked_for_before_each_save(tmp_path: Path) -> None:
    (result, _) = train(Run(directory=tmp_path, steps=5, change="small_disk"), 2)
    assert result and "could not be saved" in result.error
    assert "0.005 MB free, and 1.055 MB are needed for the checkpoint of step 4" in result.text


def test_unasked_a_save_would_be_begun_without_room(tmp_path: Path) -> None:
    """Negative control: the disk that says it is full is not."""
    good(Run(directory=tmp_path, steps=5, change="small_disk_unasked"), 2)
    assert "step-00000004" in names(tmp_path / "checkpoints")


def test_old_checkpoints_that_cannot_be_removed_end_nothing(tmp_path: Path) -> None:
    result = good(Run(directory=tmp_path, steps=6, change="stubborn_files"), 2)
    assert "step-00000002 cannot be removed" in result.text
    assert names(tmp_path / "checkpoints") == [f"step-{step:08d}" for step in (2, 4, 6)]


def test_if_trouble_with_old_ones_mattered_the_run_would_end(tmp_path: Path) -> None:
    """Negative control."""
    for result in train(Run(directory=tmp_path, steps=2, change="trouble_that_matters"), 2):
        assert result and "could not be saved" in result.error


def test_a_directory_that_not_all_ranks_see_is_refused(tmp_path: Path) -> None:
    roots = (tmp_path / "one", tmp_path / "other")
    for result in train(Run(directory=tmp_path, roots=roots), 2):
        assert result and not result.losses
        assert f"rank 1 does not see what rank 0 writes into {roots[0]}" in result.error


def test_unseen_such_a_directory_would_hold_half_a_checkpoint(tmp_path: Path) -> None:
    """Negative control: all seems well until the checkpoint is needed."""
    run = Run(directory=tmp_path, roots=(tmp_path / "one", tmp_path / "other"), change="unseen_directories")
    assert good(run, 2).losses
    results = train(run, 2)
    assert any(result is None or result.error for result in results)
    assert not any(result and result.losses for result in results)


def test_auto_says_what_it_chose_and_all_ranks_save_alike(tmp_path: Path) -> None:
    settings = {"checkpoint_every": "auto", "failures_per_node_hour": 36_000.0}
    first, second = train(Run(directory=tmp_path, steps=60, settings=settings), 2)
    assert first and second and not first.error
    assert first.saves == second.saves
    assert first.saves[:2] == [20, 40]
    assert "Checkpoint every " in first.text and "a save stalls" in first.text
