"""A checkpoint as a directory that transformers loads: `python -m training.export --checkpoint C --out D`.

Runs as one process, after or beside the training: no rank gathers a whole model. At most one output file's
tensors are in memory. The checkpoint is verified first; the directory appears when it is complete. Exit
codes: 0 exported; 2 refused, with the reason.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch.distributed.checkpoint import state_dict_loader
from torch.distributed.checkpoint.api import CheckpointException

from training.checkpoint import hashes, manifest
from training.checkpoint.group import words
from training.checkpoint.index import DataOnlyReader
from training.config import load
from training.data.described import describe
from training.data.sources import tokenizer_directory
from training.data.tokenizer import BYTES, HuggingFace
from training.errors import JobError
from training.model import published
from training.model.build import build, hugging_face_config
from training.model.presets import Shape
from training.model.shape import choose
from training.model.weights import INDEX, SINGLE

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_TOKENIZER = ("tokenizer*", "special_tokens_map.json", "added_tokens.json", "*.jinja")
FILE_BYTES = 5_000_000_000
"""Largest size of one file of weights, in bytes."""


@dataclass(frozen=True)
class Sources:
    """What the training began with, as directories."""

    weights: Path | None = None
    """Published ones, for their configuration; None: random values."""
    tokenizer: Path | None = None
    """None where it read bytes, or no job file says."""


def export(checkpoint: Path, out: Path, sources: Sources, dtype: torch.dtype = torch.float32) -> Shape:
    """Write the model of a checkpoint into a new directory; returns its shape, as the checkpoint states it.

    Raises JobError for a checkpoint that is damaged or of another model than the weights', and where `out` is
    already there.
    """
    shape = _verified_shape(checkpoint)
    if sources.weights and (theirs := published.read_shape(sources.weights)) != shape:
        raise JobError(f"{checkpoint} is of another model than {sources.weights}: {shape}, not {theirs}")
    if out.exists():
        raise JobError(f"{out} is already there", "give another --out")
    aside = out.with_name(f".writing-{out.name}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        _write_config(aside, shape, sources, dtype)
        _write_weights(checkpoint, aside, shape, dtype)
    except SafetensorError as error:  # it is no OSError, a full disk included
        raise JobError(f"{out}: {error}") from None
    except CheckpointException as error:  # it is no Exception
        raise JobError(f"{checkpoint}: {words(error)}") from None
    else:
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return shape


def _verified_shape(checkpoint: Path) -> Shape:
    try:
        content = manifest.read(checkpoint)
        shape = Shape(**content.model)
    except (ValueError, TypeError) as error:
        hint = "give a committed checkpoint, checkpoints/step-NNNNNNNN"
        raise JobError(f"{checkpoint}: {error}", hint) from None
    if faults := hashes.faults(checkpoint, content, content.files):
        raise JobError(f"{checkpoint} is damaged: {'; '.join(faults)}", "give another one")
    return shape


def _write_weights(checkpoint: Path, out: Path, shape: Shape, dtype: torch.dtype) -> None:
    sizes = {name: tuple(each.shape) for name, each in build(shape).named_parameters()}
    parts = list(_parts(sizes, dtype))
    places: dict[str, str] = {}
    for number, names in enumerate(parts, start=1):
        file = SINGLE if len(parts) == 1 else f"model-{number:05}-of-{len(parts):05}.safetensors"
        state = {"model": {name: torch.empty(sizes[name]) for name in names}}
        with warnings.catch_warnings():  # that one process does it is the intent
            warnings.filterwarnings("ignore", message="torch.distributed is disabled")
            state_dict_loader.load(state, storage_reader=DataOnlyReader(checkpoint), no_dist=True)
        tensors = {name: value.to(dtype) for name, value in state["model"].items()}
        save_file(tensors, out / file, metadata={"format": "pt"})
        shutil.copymode(out / "config.json", out / file)  # the library's is for its owner's eyes only
        places |= dict.fromkeys(names, file)
    if len(parts) > 1:
        total = shape.num_parameters * dtype.itemsize
        index = {"metadata": {"total_size": total}, "weight_map": places}
        (out / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def _parts(sizes: dict[str, tuple[int, ...]], dtype: torch.dtype) -> Iterator[list[str]]:
    """Names of the tensors of each file."""
    names: list[str] = []
    taken = 0
    for name, size in sizes.items():
        needed = torch.Size(size).numel() * dtype.itemsize
        if names and taken + needed > FILE_BYTES:
            yield names
            names, taken = [], 0
        names.append(name)
        taken += needed
    yield names


def _write_config(out: Path, shape: Shape, sources: Sources, dtype: torch.dtype) -> None:
    """The configuration also says which tokens begin and end a text: those of the weights the training began
    with, else of its tokenizer. The tokenizer comes along."""
    config = hugging_face_config(shape).to_dict()
    if sources.tokenizer:
        _copy(sources.tokenizer, out, _TOKENIZER)
        config |= _special_tokens(sources.tokenizer)
    if sources.weights:
        config |= json.loads((sources.weights / "config.json").read_text(encoding="utf-8"))
        _copy(sources.weights, out, ("generation_config.json",))
    config.pop("torch_dtype", None)  # an older name of dtype
    config |= {"dtype": str(dtype).removeprefix("torch."), "use_cache": True}
    kind = {"mistral": "MistralForCausalLM", "llama": "LlamaForCausalLM"}[shape.model_type]
    text = json.dumps(config | {"architectures": [kind]}, indent=2) + "\n"
    (out / "config.json").write_text(text, encoding="utf-8")


def _copy(origin: Path, out: Path, patterns: Sequence[str]) -> None:
    for path in (path for pattern in patterns for path in origin.glob(pattern)):
        shutil.copy(path, out)


def _special_tokens(directory: Path) -> dict[str, int | None]:
    """The tokens that begin and end a text."""
    found = HuggingFace(directory)
    return {f"{key}_id": found.special_token(directory, key) for key in ("bos_token", "eos_token")}


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m training.export")
    parser.add_argument("--checkpoint", type=Path, required=True, help="a committed one, checkpoints/step-*")
    parser.add_argument("--out", type=Path, required=True, help="a directory that is not there yet")
    parser.add_argument("--config", type=Path, help="job file; default: the nearest job.yaml above it")
    parser.add_argument("--dtype", choices=_DTYPES, default="float32")
    options = parser.parse_args(arguments)
    try:
        job_file: Path | None = options.config or _job_file(options.checkpoint)
        sources = _sources(job_file) if job_file else Sources()
        shape = export(options.checkpoint, options.out, sources, _DTYPES[options.dtype])
    except (JobError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{options.out}: {shape.num_parameters} parameters in {options.dtype}")
    if sources.tokenizer is None:
        unknown = "no job.yaml above the checkpoint; name it by --config"
        print(f"no tokenizer: {'the training read bytes' if job_file else unknown}")
    return 0


def _job_file(checkpoint: Path) -> Path | None:
    """That of the run: two directories above a checkpoint, three above one that was set aside."""
    above = (directory / "job.yaml" for directory in checkpoint.absolute().parents)
    return next((path for path in above if path.is_file()), None)


def _sources(job_file: Path) -> Sources:
    """What a job names. Raises JobConfigError and DataError where it is no longer there."""
    config, directory = load(job_file), job_file.absolute().parent
    data = describe(config, directory)
    by_bytes = data.tokenizer == BYTES
    tokenizer = None if by_bytes else tokenizer_directory(data.tokenizer, data.tokenizer_revision)
    return Sources(choose(config, directory).weights, tokenizer)


if __name__ == "__main__":
    sys.exit(main())
