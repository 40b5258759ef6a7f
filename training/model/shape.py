"""Which model a job trains: the preset's shape with the job's own values, or that of the loaded weights.

Weights bring their own config.json. What the job says otherwise is refused with both values: another rotary
base, for one, damages weights without an error anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from training.config import JobConfig, JobConfigError, Problem
from training.model import published
from training.model.presets import PRESETS, SCRATCH, Shape

_FROM_JOB = tuple(field.name for field in fields(Shape) if field.name in JobConfig.__dataclass_fields__)
_SIZES = (
    "model_type vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads "
    "num_key_value_heads head_dim rope_theta rope_scaling rotary_fraction rms_norm_eps tie_word_embeddings"
).split()


@dataclass(frozen=True)
class Model:
    """The shape to build and where its values come from; no weights: random ones."""

    shape: Shape
    weights: Path | None


def choose(config: JobConfig, directory: Path) -> Model:
    """The model of a job whose file lies in `directory`. Reads config.json where there are weights.

    Raises JobConfigError where weights are not on this machine, or the job contradicts them.
    """
    weights = config.weights or PRESETS[config.preset].weights
    if weights == SCRATCH:
        shape = _from_job(config)
        return _refuse(_impossible(shape), Model(shape, None))
    try:
        path = published.find(weights, config.weights_revision, directory)
        shape = published.read_shape(path)
    except (OSError, ValueError) as error:
        hint = "fetch them once: python -m training.model.published NAME; or set `weights: scratch`"
        return _refuse([Problem("weights", str(error), hint)])
    return _refuse(contradictions(config, shape, f"{path}/config.json"), Model(shape, path))


def planned(config: JobConfig, directory: Path) -> Shape:
    """The shape of a job that may be planned before its weights are fetched: the preset's until then."""
    weights = config.weights or PRESETS[config.preset].weights
    if weights != SCRATCH:
        try:
            published.find(weights, config.weights_revision, directory)
        except FileNotFoundError:
            shape = PRESETS[config.preset].shape
            return _refuse(
                contradictions(config, shape, f"the published {weights}"), Model(shape, None)
            ).shape
    return choose(config, directory).shape


def shard_group(config: JobConfig, world: int, ranks_per_node: int) -> int:
    """Ranks that share a copy of the parameters. Raises JobConfigError where groups do not fill the world."""
    if config.sharding == "full":
        return world
    size = config.shard_group_size or ranks_per_node
    if world % size == 0:
        return size
    found = f"groups of {size} do not fill {world} ranks evenly"
    problem = Problem("shard_group_size", found, "give a divisor of the number of ranks")
    raise JobConfigError("job.yaml", [problem])


def contradictions(config: JobConfig, shape: Shape, where: str) -> list[Problem]:
    """Where the job's own values, or its preset's sizes, differ from those of the weights, named `where`."""
    theirs = "{ours} here and {found} in " + where
    hint = "leave it out to train as the weights were made, or set `weights: scratch`"
    own, preset = _own_values(config), PRESETS[config.preset].shape
    found = [
        Problem(key, theirs.format(ours=ours, found=getattr(shape, key)), hint)
        for key, ours in own.items()
        if not _same(ours, getattr(shape, key))
    ]
    for key in _SIZES:
        ours, given = getattr(preset, key), getattr(shape, key)
        if not _same(ours, given) and key not in own:
            text = f"{key} is " + theirs.format(ours=ours, found=given)
            found.append(
                Problem("preset", text, f"{config.preset} is another model; name that of the weights")
            )
    if config.context_length > shape.max_context_length:
        text = f"{config.context_length} is longer than the weights' {shape.max_context_length}"
        found.append(Problem("context_length", text, f"use at most {shape.max_context_length}"))
    return found


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float):  # a rotary base may have been written as a power
        return math.isclose(ours, theirs)
    return bool(ours == theirs)


def _from_job(config: JobConfig) -> Shape:
    shape = replace(PRESETS[config.preset].shape, **_own_values(config))
    if config.hidden_size or config.num_attention_heads:
        shape = replace(shape, head_dim=shape.hidden_size // shape.num_attention_heads)
    return shape


def _own_values(config: JobConfig) -> dict[str, Any]:
    pairs = ((name, getattr(config, name)) for name in _FROM_JOB)
    return {name: value for name, value in pairs if value is not None}


def _impossible(shape: Shape) -> list[Problem]:
    """Sizes that no attention layer can have."""
    found = []
    if shape.hidden_size % shape.num_attention_heads or shape.head_dim % 2:
        text = f"{shape.num_attention_heads} heads do not share {shape.hidden_size} evenly, two by two"
        found.append(Problem("num_attention_heads", text, "give a divisor that leaves an even head"))
    if shape.num_attention_heads % shape.num_key_value_heads:
        text = f"{shape.num_key_value_heads} does not divide {shape.num_attention_heads} heads"
        found.append(Problem("num_key_value_heads", text, "give a divisor of num_attention_heads"))
    if not (turned := shape.head_dim * shape.rotary_fraction / 2) or turned % 1:
        text = f"{shape.rotary_fraction} of a head of {shape.head_dim} is not a number of pairs"
        found.append(Problem("rotary_fraction", text, "give a part such as 0.25, 0.5 or 1"))
    return found


def _refuse(problems: list[Problem], otherwise: Model | None = None) -> Model:
    if problems or otherwise is None:
        raise JobConfigError("job.yaml", problems)
    return otherwise
