"""A checkpoint of a run as a directory for transformers: one process, whole or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.training import corpus, ranks
from tests.training.conftest import write_job
from training.model import published

CHANGES: dict[str, dict[str, Any]] = {
    "mistral": {},
    "part of each head turned": {"rotary_fraction": 0.25},
    "llama": {"preset": "tiny-llama"},
}


@pytest.fixture(scope="module", params=CHANGES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run from scratch."""
    directory = tmp_path_factory.mktemp("run")
    changes = {"num_steps": 2, "checkpoint_every": 2, "validate_every": 0, **CHANGES[request.param]}
    write_job(directory, **changes)
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    return directory


def exported(run: Path, out: Path, *more: str) -> dict[str, Any]:
    """Export the last checkpoint and compare it, tensor by tensor and by its logits, with the checkpoint."""
    import contextlib
    import io

    import torch
    from torch.distributed.checkpoint import state_dict_loader

    from tests.training.model.test_weights import library
    from training import export
    from training.checkpoint import manifest
    from training.model.build import build
    from training.model.presets import Shape
    from training.model.values import allocate

    export.FILE_BYTES = 100_000
    said = io.StringIO()
    checkpoint = run / "checkpoints/step-00000002"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = export.main(["--checkpoint", str(checkpoint), "--out", str(out), *more])
    if code:
        return {"code": code, "said": said.getvalue()}
    shape = Shape(**manifest.read(checkpoint).model)
    ours: Any = build(shape)
    cpu = torch.device("cpu")
    allocate(ours, cpu, cpu)
    ours.tie_weights()
    state = {"model": dict(ours.named_parameters())}
    state_dict_loader.load(state, checkpoint_id=checkpoint, no_dist=True)
    loaded = library(shape.model_type).from_pretrained(out, attn_implementation="sdpa").eval()
    ids = torch.arange(40)[None]
    with torch.no_grad():
        equal = torch.equal(ours.eval()(input_ids=ids).logits, loaded(input_ids=ids).logits)
    return {"code": code, "equal": equal, "said": said.getvalue(), "shape": shape}


def said_of(checkpoint: Path, out: Path) -> tuple[int, str]:
    """Exit code and words of an export, on a disk that fills up."""
    import contextlib
    import io

    from safetensors import SafetensorError

    from training import export

    def save_file(_tensors: Any, path: Path, **_named: Any) -> None:
        path.write_bytes(b"half")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    said = io.StringIO()
    full = mock.patch.object(export, "save_file", save_file)
    with full, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = export.main(["--checkpoint", str(checkpoint), "--out", str(out)])
    return code, said.getvalue()


def test_logits_are_those_of_the_checkpoint(run: Path, tmp_path: Path) -> None:
    found = ranks.call(exported, run, tmp_path / "out")
    assert found["code"] == 0 and found["equal"]
    assert "no tokenizer" in found["said"] and "Warning" not in found["said"]
    assert len(list((tmp_path / "out").glob("model-*-of-*.safetensors"))) > 1
    assert not list(tmp_path.glob(".writing-*"))
    assert len({path.stat().st_mode for path in (tmp_path / "out").iterdir()}) == 1


def test_what_is_exported_can_be_trained_further(run: Path, tmp_path: Path) -> None:
    shape = ranks.call(exported, run, tmp_path / "out")["shape"]
    again = published.read_shape(tmp_path / "out")
    assert again.rope_theta == pytest.approx(shape.rope_theta)
    assert (again.rotary_fraction, again.model_type, again.rope_scaling, again.tie_word_embeddings) == (
        shape.rotary_fraction,
        shape.model_type,
        shape.rope_scaling,
        shape.tie_word_embeddings,
    )


def test_the_jobs_own_tokenizer_comes_along(run: Path, tmp_path: Path) -> None:
    write_job(tmp_path, tokenizer=str(corpus.tokenizer(tmp_path / "mine")), dataset=str(tmp_path / "text"))
    found = ranks.call(exported, run, tmp_path / "out", "--config", str(tmp_path / "job.yaml"))
    assert found["code"] == 0 and "no tokenizer" not in found["said"], found["said"]
    ours = (tmp_path / "mine/tokenizer.json").read_bytes()
    assert (tmp_path / "out/tokenizer.json").read_bytes() == ours
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert (config["bos_token_id"], config["eos_token_id"]) == (0, 1)  # the preset's are 1 and 2


def test_half_the_size_on_request(run: Path, tmp_path: Path) -> None:
    found = ranks.call(exported, run, tmp_path / "out", "--dtype", "bfloat16")
    assert found["code"] == 0
    assert json.loads((tmp_path / "out/config.json").read_text())["dtype"] == "bfloat16"
    size = sum(path.stat().st_size for path in (tmp_path / "out").glob("*.safetensors"))
    assert size < 2.2 * found["shape"].num_parameters


def test_a_damaged_checkpoint_and_a_taken_name_are_refused(run: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    file = next((damaged / "checkpoints/step-00000002").glob("*.distcp"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    found = ranks.call(exported, damaged, tmp_path / "out")
    assert found["code"] == 2 and "does not have the hash" in found["said"]
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    assert "is already there" in ranks.call(exported, run, tmp_path / "mine")["said"]


def test_a_full_disk_is_said_and_nothing_is_left(run: Path, tmp_path: Path) -> None:
    code, said = ranks.call(said_of, run / "checkpoints/step-00000002", tmp_path / "out")
    assert code == 2 and said.startswith(f"{tmp_path}/out: ") and "No space left" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["/step-00000002", "checkpoints"])
def test_what_is_no_checkpoint_is_said_with_its_path(path: str, tmp_path: Path) -> None:
    code, said = ranks.call(said_of, tmp_path / path, tmp_path / "out")
    assert code == 2 and said.startswith(f"{tmp_path / path}: no manifest.json\n  hint: give a committed")


def test_one_that_was_set_aside_has_its_runs_job_file(tmp_path: Path) -> None:
    from training.export import _job_file

    assert _job_file(tmp_path / "checkpoints" / "step-00000002") is None
    write_job(tmp_path)
    for folder in ("checkpoints", "checkpoints/set-aside"):
        assert _job_file(tmp_path / folder / "step-00000002") == tmp_path / "job.yaml"
