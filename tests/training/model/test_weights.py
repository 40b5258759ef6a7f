"""Published weights in, and a checkpoint out as published weights, compared with the library itself."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from tests.training.model.world import together
from training.config import JobConfigError, parse
from training.model import published as published_model
from training.model.presets import Shape
from training.model.shape import choose

SHAPES: dict[str, dict[str, Any]] = {
    "mistral": {"preset": "tiny"},
    "llama": {"preset": "tiny-llama"},
    "mistral in files": {"preset": "tiny"},
}
PUBLISHED = {"attention_dropout": 0.0, "residual_dropout": 0.0, "embedding_dropout": 0.0}


def publish(directory: Path, preset: str, file_size: str) -> None:
    """What a publisher's directory looks like: random weights, saved by the library."""
    import torch

    from training.model.build import hugging_face_config
    from training.model.presets import PRESETS

    torch.manual_seed(5)
    config = hugging_face_config(PRESETS[preset].shape)
    config.attention_dropout = 0.0
    library(preset)(config).save_pretrained(directory, max_shard_size=file_size)


def library(preset: str) -> Any:
    """The library's own class."""
    from transformers.models.llama.modeling_llama import LlamaForCausalLM
    from transformers.models.mistral.modeling_mistral import MistralForCausalLM

    return LlamaForCausalLM if "llama" in preset else MistralForCausalLM


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("published")
    for name, values in SHAPES.items():
        ranks.call(publish, root / name, values["preset"], "100KB" if "files" in name else "1GB")
    assert len(list((root / "mistral in files").glob("*.safetensors"))) > 2
    return {name: root / name for name in SHAPES}


def load_and_export(directory: Path, preset: str, out: Path) -> dict[str, Any]:
    """Load into shards, save a checkpoint, export it on the first rank; compare with the library's own."""
    import torch
    import torch.distributed as dist
    from torch.distributed.checkpoint import state_dict_saver
    from torch.distributed.checkpoint.state_dict import get_model_state_dict

    from tests.training.model.parts import job, sharded, tokens
    from training import export
    from training.checkpoint import hashes, manifest

    config = job(preset=preset, weights=str(directory))
    model = sharded(config).eval()
    aside = out.parent / ".writing-step-00000001"
    state_dict_saver.save({"model": get_model_state_dict(model)}, checkpoint_id=aside)
    ours = model(input_ids=tokens(config, 0)).logits
    found: dict[str, Any] = {
        "tied": model.get_parameter("lm_head.weight") is model.get_parameter("model.embed_tokens.weight")
    }
    dist.barrier()
    if dist.get_rank() == 0:
        entries = {path.name: hashes.entry(path) for path in aside.iterdir()}
        manifest.commit(aside, manifest_of(entries, choose(config, Path()).shape))
        text = f"{{preset: {preset}, context_length: 32, weights: '{directory}'}}"
        (out.parent / "job.yaml").write_text(text)
        job_file = str(out.parent / "job.yaml")
        given = ["--checkpoint", str(out.parent / "step-00000001"), "--config", job_file, "--out", str(out)]
        found["code"] = export.main(given)
        for name, path in (("before", directory), ("after", out)):
            loaded = library(preset).from_pretrained(path, attn_implementation="sdpa").eval()
            theirs = loaded(tokens(config, 0)).logits
            found[name] = torch.equal(theirs, ours)
            found["mean"] = float(theirs.abs().mean())
    dist.barrier()
    return found


def manifest_of(entries: Any, shape: Shape) -> Any:
    from training.checkpoint.manifest import Manifest

    counts: dict[str, Any] = {"step": 1, "tokens": 1, "samples": 1, "world": 2, "settings": {}}
    return Manifest(**counts, files=entries, model=asdict(shape))


@pytest.mark.parametrize("name", SHAPES)
def test_logits_are_the_librarys_before_and_after(
    published: dict[str, Path], name: str, tmp_path: Path
) -> None:
    preset = SHAPES[name]["preset"]
    first, _second = together(load_and_export, 2, published[name], preset, tmp_path / "out")
    assert (first["code"], first["before"], first["after"]) == (0, True, True)
    assert first["tied"] == (name == "llama")
    assert first["mean"] > 0.01, "logits of nothing would be equal too"
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["dtype"] == "float32" and config["architectures"][0].endswith("ForCausalLM")


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"rope_theta": 500.0}, ["rope_theta: 500.0 here and 10000.0 in", "config.json"]),
        ({"attention_dropout": 0.1}, ["attention_dropout: 0.1 here and 0.0"]),
        ({"residual_dropout": 0.1}, ["residual_dropout: 0.1 here and 0.0"]),
        ({"rotary_fraction": 0.25}, ["rotary_fraction: 0.25 here and 1.0"]),
        ({"vocab_size": 512}, ["vocab_size: 512 here and 384"]),
        ({"num_hidden_layers": 3}, ["num_hidden_layers: 3 here and 2"]),
        ({"model_type": "llama"}, ["model_type: llama here and mistral"]),
        ({"initializer_range": 0.5}, ["initializer_range: 0.5 here and 0.02"]),
        ({"preset": "tiny-llama"}, ["preset: model_type is llama here and mistral", "tie_word_embeddings"]),
    ],
)
def test_what_contradicts_the_weights_is_refused_with_both_values(
    published: dict[str, Path], values: dict[str, Any], parts: list[str]
) -> None:
    job = {"preset": "tiny", "context_length": 32, "weights": str(published["mistral"])}
    with pytest.raises(JobConfigError) as caught:
        choose(parse(job | values), Path())
    for part in parts:
        assert part in str(caught.value)


def test_a_base_of_the_weights_that_is_not_the_presets_is_refused_though_the_job_says_nothing(
    published: dict[str, Path], tmp_path: Path
) -> None:
    """The preset's name promises a model; with another rotary base it is another one."""
    shutil.copytree(published["mistral"], tmp_path / "weights")
    content = json.loads((tmp_path / "weights/config.json").read_text())
    content["rope_parameters"]["rope_theta"] = 500.0
    (tmp_path / "weights/config.json").write_text(json.dumps(content))
    job = {"preset": "tiny", "context_length": 32, "weights": "./weights"}
    with pytest.raises(JobConfigError, match=r"preset: rope_theta is 10000\.0 here and 500\.0 in"):
        choose(parse(job), tmp_path)


def both_names(directory: Path) -> bool:
    from safetensors.torch import load_file, save_file

    from tests.training.model.parts import job, sharded

    file = directory / "model.safetensors"
    tensors = load_file(file)
    save_file(tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}, file)
    model = sharded(job(preset="tiny-llama", weights=str(directory)))
    return model.get_parameter("lm_head.weight") is model.get_parameter("model.embed_tokens.weight")


def test_a_shared_matrix_may_be_there_under_both_its_names(
    published: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(published["llama"], tmp_path / "weights")
    assert together(both_names, 1, tmp_path / "weights") == [True]


def test_from_scratch_the_same_values_are_taken() -> None:
    values = {"rope_theta": 500.0, "rotary_fraction": 0.25, "vocab_size": 512, "attention_dropout": 0.1}
    shape = choose(parse({"preset": "tiny", "context_length": 32, **values}), Path()).shape
    assert {key: getattr(shape, key) for key in values} == values


def test_values_that_agree_with_the_weights_are_taken(published: dict[str, Path]) -> None:
    job = {"preset": "tiny", "context_length": 32, "weights": "mistral", "rope_theta": 1e4, **PUBLISHED}
    chosen = choose(parse(job), published["mistral"].parent)
    assert chosen.weights == published["mistral"] and chosen.shape.attention_dropout == 0.0


def test_published_weights_that_are_not_here_are_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(JobConfigError, match="neither a directory nor in the cache") as caught:
        choose(parse({}), tmp_path)
    assert "training.model.published NAME" in str(caught.value)


def test_weights_are_found_in_the_hubs_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: dict[str, Path]
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    cached = tmp_path / "hub/models--a--b"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs/main").write_text("abc")
    (cached / "snapshots").mkdir()
    (cached / "snapshots/abc").symlink_to(published["mistral"])
    job = parse({"preset": "tiny", "context_length": 32, "weights": "a/b"})
    assert choose(job, tmp_path).weights == cached / "snapshots/abc"
    pinned = replace(job, weights_revision="abc")
    assert choose(pinned, tmp_path).weights == cached / "snapshots/abc"
    with pytest.raises(JobConfigError, match=r"a/b \(def\): neither a directory nor in the cache"):
        choose(replace(job, weights_revision="def"), tmp_path)


def test_fetching_asks_for_what_is_needed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Any]] = []

    class Hub:
        @staticmethod
        def snapshot_download(name: str, **more: Any) -> str:
            asked.append((name, more["revision"]))
            if name == "gated/model":
                raise OSError("401 Client Error")
            return "/somewhere"

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert published_model.main(["a/b", "--revision", "abc"]) == 0
    assert published_model.main(["gated/model"]) == 1
    assert asked == [("a/b", "abc"), ("gated/model", None)]
    said = capsys.readouterr()
    assert said.out == "/somewhere\n"
    assert "401 Client Error" in said.err and "set HF_TOKEN" in said.err


def wrong_weights(directory: Path) -> dict[str, str]:
    """What is said of tensors that are not the model's."""
    import torch
    from safetensors.torch import load_file, save_file

    from tests.training.model.parts import job, sharded
    from training.model.weights import WeightsError

    plain = load_file(directory / "model.safetensors")
    norm = "model.norm.weight"
    said = {}
    for change, tensors in {
        "lack": {name: value for name, value in plain.items() if name != norm},
        "have": plain | {"extra": torch.zeros(1)},
        "resize": plain | {norm: torch.zeros(3)},
        "derived": plain | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(1)},
    }.items():
        (directory / change).mkdir()
        (directory / change / "config.json").write_text((directory / "config.json").read_text())
        save_file(tensors, directory / change / "model.safetensors")
        try:
            sharded(job(weights=str(directory / change)))
            said[change] = "loaded"
        except WeightsError as error:
            said[change] = str(error)
    return said


def beside_a_stray_file(directory: Path) -> bool:
    """Whether the weights are those that the index names."""
    import torch
    from safetensors.torch import load_file, save_file

    from tests.training.model.parts import job, sharded, whole

    norm = "model.norm.weight"
    save_file({norm: torch.full((64,), 7.0)}, directory / "another.safetensors")
    named = json.loads((directory / "model.safetensors.index.json").read_text())["weight_map"]
    expected = load_file(directory / named[norm])[norm]
    return torch.equal(whole(dict(sharded(job(weights=str(directory))).named_parameters())[norm]), expected)


def test_a_file_that_the_index_does_not_name_is_left_alone(
    published: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(published["mistral in files"], tmp_path / "weights")
    assert together(beside_a_stray_file, 1, tmp_path / "weights") == [True]


def test_a_file_that_the_index_names_and_that_is_missing_is_said(
    published: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(published["mistral in files"], tmp_path / "weights")
    lost = sorted((tmp_path / "weights").glob("*.safetensors"))[0]
    lost.unlink()
    (said,) = together(refusal, 1, tmp_path / "weights")
    assert f"{lost.name} of model.safetensors.index.json is missing" in said


def damage_one_by_one(directory: Path) -> dict[str, str]:
    """What is said of the directory after each damage to its file or its index."""
    import torch
    from safetensors.torch import load, save_file

    file, index = directory / "model.safetensors", directory / "model.safetensors.index.json"
    whole = file.read_bytes()
    tensors = load(whole)
    found = {}
    for name, content in (("truncated", whole[:-9]), ("empty", b""), ("pointer", b"version https://git-lfs")):
        file.write_bytes(content)
        found[name] = refusal(directory)
    save_file({name: (value * 100).to(torch.int8) for name, value in tensors.items()}, file)
    found["quantised"] = refusal(directory)
    save_file({name: value for name, value in tensors.items() if name != "lm_head.weight"}, file)
    index.write_text(json.dumps({"weight_map": dict.fromkeys(tensors, file.name)}))
    found["index that lies"] = refusal(directory)
    for name, text in (("half an index", '{"weight'), ("index of nothing", "{}"), ("list", "[1]")):
        index.write_text(text)
        found[name] = refusal(directory)
    return found


def test_damaged_weights_are_said_with_their_file(published: dict[str, Path], tmp_path: Path) -> None:
    directory = tmp_path / "weights"
    shutil.copytree(published["mistral"], directory)
    (said,) = together(damage_one_by_one, 1, directory)
    file, index = f"{directory}/model.safetensors", f"{directory}/model.safetensors.index.json"
    for name in ("truncated", "empty", "pointer", "index that lies"):
        assert said[name].startswith(f"{file}: ") and "hint: fetch the weights again" in said[name], name
    for name in ("half an index", "index of nothing", "list"):
        assert said[name].startswith(f"{index}: ") and "hint: fetch the weights again" in said[name], name
    assert "is of I8 numbers in the weights\n  hint: give weights that are not quantised" in said["quantised"]


@pytest.mark.parametrize("text", ["[1]", "{", "\0", '{"model_type": "mistral", "rope_parameters": [1]}'])
def test_a_damaged_configuration_is_said_with_its_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path}/config.json ")):
        published_model.read_shape(tmp_path)


def refusal(directory: Path) -> str:
    from tests.training.model.parts import job, sharded
    from training.model.weights import WeightsError

    try:
        sharded(job(weights=str(directory)))
    except WeightsError as error:
        return str(error)
    return ""


def test_other_tensors_than_the_models_are_refused(published: dict[str, Path]) -> None:
    assert together(wrong_weights, 1, published["mistral"]) == [
        {
            "lack": "the weights lack model.norm.weight",
            "have": "the weights have extra, which this model has not",
            "resize": "model.norm.weight is (3,) in the weights, not (64,)",
            "derived": "loaded",
        }
    ]
