"""job.yaml as a typed, frozen JobConfig: the fields, their units and defaults, and the rules for values.

All problems of a file are collected before anything is refused; the trainer then exits with 2. Reading and
checking lives here, torch does not: a misspelt key is an error before a GPU is touched.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from training.model.presets import PRESETS


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a job file."""

    key: str
    found: str
    hint: str

    def __str__(self) -> str:
        return f"{self.key}: {self.found}\n  hint: {self.hint}"


class JobConfigError(ValueError):
    """A job file that cannot be used; `problems` has one entry for each thing wrong with it."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = problems
        super().__init__("\n".join(f"{source}: {problem}" for problem in problems))


@dataclass(frozen=True, kw_only=True)
class JobConfig:
    """One training job. The defaults are the published Mathstral-7B job's.

    The folder the job file lies in is the job directory: run/ and checkpoints/ are made there.
    """

    preset: str = "mathstral-7b"
    """Shape of the model, a name of training/model/presets.py. Weights start from random values."""
    device: str = "auto"
    """cpu (gloo), cuda (nccl), or auto: cuda where there is a GPU."""
    dataset: str = "shipped"
    """Text to train on: `shipped` (the public-domain text of training/data/) or the path of a UTF-8 file."""
    context_length: int = 32_768
    """Tokens in one sample."""
    train_batch_size: int = 1
    """Samples per rank and step."""
    val_batch_size: int = 1
    """Samples per rank and validation batch."""
    num_steps: int = 5_000
    num_epochs: int = 3
    """Passes over the data; training ends with whichever of num_steps and num_epochs comes first."""
    seed: int = 42
    """Orders the samples and starts weights and dropout."""
    learning_rate: float = 1e-4
    min_learning_rate: float = 1e-5
    lr_schedule: str = "cosine"
    """Form of the decay from learning_rate to min_learning_rate: cosine, linear or constant."""
    warmup_fraction: float = 0.0032
    """Part of num_steps in which the learning rate rises from zero."""
    plateau_fraction: float = 0.0
    """Part of num_steps, after the warm-up, in which the learning rate stays at its top."""
    weight_decay: float = 0.2
    beta1: float = 0.9
    beta2: float = 0.95
    grad_clip: float = 1.0
    """Largest norm of the whole gradient; larger ones are scaled down."""
    attention_dropout: float = 0.1
    residual_dropout: float = 0.1
    embedding_dropout: float = 0.1
    initializer_range: float = 0.02
    """Standard deviation of the initial weights."""
    rope_theta: float = 10_000.0
    """Base of the rotary position embedding."""
    precision: str = "bf16"
    """Numbers used in forward and backward: bf16 (gradients are summed in fp32) or fp32."""
    activation_checkpointing: bool = True
    """Recompute each layer in the backward pass instead of keeping its activations."""
    activation_offloading: bool = True
    """Keep what is saved for the backward pass in host memory instead of GPU memory."""
    log_every: int = 1
    """Steps between two lines in the log; the metrics file has every step."""
    checkpoint_every: int = 50
    """Steps between two checkpoints."""
    keep_checkpoints: int = 2
    """Checkpoints kept; the last one may be damaged, so at least 2."""
    validate_every: int = 500
    """Steps between two validations; 0 turns validation off."""
    validate_batches: int = 10
    """Batches per rank and validation."""
    init_timeout_seconds: int = 1_800
    """How long ranks wait for each other until the first step is done."""
    step_timeout_seconds: int = 300
    """How long ranks wait for each other afterwards; a rank lost later than that ends the attempt."""

    def digest(self) -> str:
        """Hash of what a checkpoint and the run that goes on from it must share."""
        kept = {key: value for key, value in asdict(self).items() if key in _NUMERIC_FIELDS}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


# What may not change between a checkpoint and the run that goes on from it: shapes and data order.
_NUMERIC_FIELDS = ("preset", "context_length", "dataset", "seed")
_CHOICES = {
    "preset": tuple(PRESETS),
    "device": ("auto", "cpu", "cuda"),
    "lr_schedule": ("cosine", "linear", "constant"),
    "precision": ("bf16", "fp32"),
}
_POSITIVE = (
    "context_length train_batch_size val_batch_size num_steps num_epochs learning_rate grad_clip "
    "initializer_range rope_theta log_every checkpoint_every validate_batches init_timeout_seconds "
    "step_timeout_seconds"
).split()
_NOT_NEGATIVE = "seed min_learning_rate weight_decay validate_every".split()
_BELOW_ONE = (
    "warmup_fraction plateau_fraction beta1 beta2 attention_dropout residual_dropout embedding_dropout"
).split()
_TYPES: dict[str, type] = {
    field.name: {"int": int, "float": float, "bool": bool, "str": str}[str(field.type)]
    for field in fields(JobConfig)
}


def load(path: Path) -> JobConfig:
    """Read and check a job file. Raises JobConfigError for anything a person can correct."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise JobConfigError(str(path), [Problem("file", reason, "give the path of a job.yaml")]) from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise JobConfigError(str(path), [Problem("file", reason, "correct the YAML at that place")]) from None
    if not isinstance(content, Mapping):
        raise JobConfigError(str(path), [Problem("file", "not a mapping", "write one `key: value` a line")])
    return parse(content, str(path))


def parse(content: Mapping[Any, Any], source: str = "job") -> JobConfig:
    """Check the values of a job. Raises JobConfigError with all problems at once."""
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _TYPES:
            problems.append(_unknown(str(key)))
        elif (converted := _convert(value, _TYPES[key])) is None:
            problems.append(
                Problem(key, f"{value!r} is not {_word(_TYPES[key])}", f"write {_word(_TYPES[key])}")
            )
        else:
            values[key] = converted
    config = JobConfig(**values)
    for rule in _RULES:
        problems += rule(config)
    if problems:
        raise JobConfigError(source, problems)
    return config


def _unknown(key: str) -> Problem:
    near = difflib.get_close_matches(key, _TYPES, n=1)
    hint = f"did you mean {near[0]}?" if near else "remove it; the known keys are in training/config.py"
    return Problem(key, "not a setting of a job", hint)


def _word(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]


def _convert(value: object, kind: type) -> Any:
    """The value as the field's type, or None where it is another kind of thing."""
    if kind is bool or isinstance(value, bool):
        return value if kind is bool and isinstance(value, bool) else None
    if kind is float and isinstance(value, (int, float, str)):
        # YAML 1.1 reads 1e-4 as a text, so numbers in texts are accepted
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return value if isinstance(value, kind) else None


def _check_choices(config: JobConfig) -> list[Problem]:
    return [
        Problem(key, f"{getattr(config, key)!r} is not offered", "use one of " + ", ".join(allowed))
        for key, allowed in _CHOICES.items()
        if getattr(config, key) not in allowed
    ]


def _check_ranges(config: JobConfig) -> list[Problem]:
    found = []
    for key in _POSITIVE:
        if not getattr(config, key) > 0:
            found.append(Problem(key, f"{getattr(config, key)} is not above 0", "give a larger number"))
    for key, kind in _TYPES.items():
        if kind is float and math.isinf(getattr(config, key)):
            found.append(Problem(key, "not a finite number", "give a number"))
    for key in _NOT_NEGATIVE:
        if not getattr(config, key) >= 0:
            found.append(Problem(key, f"{getattr(config, key)} is below 0", "give 0 or more"))
    for key in _BELOW_ONE:
        if not 0 <= getattr(config, key) < 1:
            found.append(Problem(key, f"{getattr(config, key)} is outside 0 to 1", "give 0 or more, below 1"))
    return found


def _check_schedule(config: JobConfig) -> list[Problem]:
    found = []
    if config.warmup_fraction + config.plateau_fraction > 1:
        found.append(
            Problem(
                "plateau_fraction",
                f"{config.plateau_fraction} and warmup_fraction {config.warmup_fraction} exceed 1",
                "lower one of them; together they are parts of num_steps",
            )
        )
    if config.min_learning_rate > config.learning_rate:
        hint = f"give at most {config.learning_rate}"
        found.append(Problem("min_learning_rate", f"{config.min_learning_rate} is above learning_rate", hint))
    return found


def _check_checkpoints(config: JobConfig) -> list[Problem]:
    if config.keep_checkpoints >= 2:
        return []
    hint = "use 2 or more: the newest may be damaged by the fault that ended the run"
    return [Problem("keep_checkpoints", f"{config.keep_checkpoints} is too few", hint)]


def _check_context(config: JobConfig) -> list[Problem]:
    preset = PRESETS.get(config.preset)
    if preset is None or config.context_length <= preset.max_context_length:
        return []
    hint = f"use at most {preset.max_context_length} with preset {config.preset}"
    return [Problem("context_length", f"{config.context_length} is longer than the model takes", hint)]


def _check_dataset(config: JobConfig) -> list[Problem]:
    if config.dataset == "shipped" or "/" in config.dataset:
        return []
    hint = "use `shipped` or the path of a text file; streamed datasets are not offered yet"
    return [Problem("dataset", f"{config.dataset!r} is neither", hint)]


_RULES: tuple[Callable[[JobConfig], list[Problem]], ...] = (
    _check_choices,
    _check_ranges,
    _check_schedule,
    _check_checkpoints,
    _check_context,
    _check_dataset,
)
