"""What somebody else may have written runs nothing, and stands in no place that is ours."""

from __future__ import annotations

import dataclasses
import io
import os
import pickle
import shutil
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks, saves
from tests.training.saves import Run, good, train
from training.checkpoint import hashes, manifest
from training.errors import JobError
from training.files import own_directory
from training.watch.heartbeat import Heart


class Code:
    """Makes a directory when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self._proof = proof

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._proof),)


BYTES = b"ctorch.distributed.checkpoint.metadata\nBytesStorageMetadata\n."
"""An index that has the library unpickle what else is in the files."""


@pytest.fixture(scope="module")
def ended(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> saves.Run:
    """Two steps of two ranks."""
    run = Run(directory=tmp_path_factory.mktemp("ended"), steps=2)
    good(run, 2)
    return run


def theirs(ended: Run, directory: Path, index: bytes) -> Run:
    """A run that is to start from a checkpoint with another index, which its manifest vouches for."""
    path = directory / "theirs" / "step-00000002"
    shutil.copytree(ended.directory / "checkpoints" / "step-00000002", path)
    (path / ".metadata").write_bytes(index)
    content = manifest.read(path)
    content.files[".metadata"] = hashes.entry(path / ".metadata")
    (path / manifest.NAME).write_text(manifest.sealed(dataclasses.asdict(content)))
    return Run(directory=directory / "job", settings={"resume_from": str(path)})


def test_an_index_that_would_run_code_is_refused(ended: Run, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    for result in train(theirs(ended, tmp_path, pickle.dumps(Code(proof))), 2):
        assert result and not result.losses
        assert ".metadata: no index of tensors: it names posix.mkdir" in result.error
        assert "Traceback" not in result.error
    assert not proof.exists()


def as_debian_12_writes_it(path: Path) -> bytes:
    """The index, with members of enumerations as Python 3.11.2 writes them."""

    class Pickler(pickle.Pickler):
        def reducer_override(self, value: object) -> Any:
            return (getattr, (type(value), value.name)) if isinstance(value, Enum) else NotImplemented

    written = io.BytesIO()
    with path.open("rb") as file:
        Pickler(written).dump(pickle.load(file))  # noqa: S301 - our own
    return written.getvalue()


def test_an_index_is_read_whichever_python_wrote_it(ended: Run, tmp_path: Path) -> None:
    index = ranks.call(
        as_debian_12_writes_it, ended.directory / "checkpoints" / "step-00000002" / ".metadata"
    )
    assert b"getattr" in index
    result = good(dataclasses.replace(theirs(ended, tmp_path, index), steps=4), 2)
    assert len(result.losses) == 2, "steps 3 and 4"


@pytest.mark.parametrize("of", ["cposix\nsystem\n", "ctorch.distributed.checkpoint.metadata\nMetadata\n"])
def test_attributes_of_anything_but_an_enumeration_are_refused(of: str, ended: Run, tmp_path: Path) -> None:
    index = f"cbuiltins\ngetattr\n({of}V__init__\ntR.".encode()
    for result in train(theirs(ended, tmp_path, index), 2):
        assert result and ".metadata: no index of tensors: it names " in result.error


def test_one_that_would_have_more_unpickled_is_refused(ended: Run, tmp_path: Path) -> None:
    for result in train(theirs(ended, tmp_path, BYTES), 2):
        assert (
            result and "it names torch.distributed.checkpoint.metadata.BytesStorageMetadata" in result.error
        )


def test_an_index_that_could_not_be_loaded_is_no_checkpoint(tmp_path: Path) -> None:
    """As with a torch that writes it in another way: the first save tells, and not the resume."""
    for result in train(Run(directory=tmp_path, steps=3, change="index_of_another_torch"), 2):
        assert result and "Checkpoint of step 2 could not be saved: " in result.text
        assert ".metadata: no index of tensors: it names torch.Size" in result.text
    assert not list((tmp_path / "checkpoints").glob("step-*"))


def test_read_by_the_library_it_would_run(ended: Run, tmp_path: Path) -> None:
    """Negative control."""
    proof = tmp_path / "proof"
    train(dataclasses.replace(theirs(ended, tmp_path, pickle.dumps(Code(proof))), change="trusting_index"), 2)
    assert proof.is_dir()


def test_a_directory_on_a_node_is_for_its_owner_alone(tmp_path: Path) -> None:
    node = tmp_path / "node"
    good(Run(directory=tmp_path / "job", steps=2, nodes=(node, node)), 2)
    (own,) = node.iterdir()
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    for result in train(Run(directory=tmp_path / "job", nodes=(node, node)), 2):
        assert result and f"{own} is a link, another user's, or open to others" in result.error


def test_a_place_that_somebody_took_first_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, ours = tmp_path / "link", tmp_path / "ours"
    own_directory(ours)
    own_directory(ours)
    link.symlink_to(ours)
    with pytest.raises(JobError, match="link is a link, another user's"):
        Heart(link, 0)
    ours.chmod(0o720)
    with pytest.raises(JobError, match="open to others"):
        Heart(ours, 0)
    ours.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: ours.stat().st_uid + 1)
    with pytest.raises(JobError, match="another user's"):
        Heart(ours, 0)
    assert list(ours.iterdir()) == []
