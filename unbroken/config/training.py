"""The cluster file's ``training`` section: the job's settings, by default the Mathstral-7B job's.

The names are those of job.yaml, so that the two read alike; what the trainer does with them, and sizes that
belong to a model preset, are in ``training/``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.fields import Fraction, Probability
from unbroken.config.section import Fault, Section, refusal

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]


def _interpreter(value: str) -> str:
    if not value.startswith("/") or "'" in value or not value.isprintable():
        raise refusal(
            "is not an absolute path that fits into the job script",
            "use a path that every node has, such as /fsx/unbroken/env/bin/python3",
        )
    return value


def _dataset(value: str) -> str:
    if value != "shipped" and not value.startswith("/"):
        raise refusal(
            "is neither shipped nor an absolute path", "use shipped, or the path of a text file on every node"
        )
    return value


class TrainingConfig(Section):
    """One job, run on the first worker group."""

    preset: Literal["mathstral-7b", "tiny"] = "mathstral-7b"
    """Shape of the model; ``tiny`` is the one the rehearsal trains. Weights start from random values."""
    python: Annotated[str, AfterValidator(_interpreter)] = "/fsx/unbroken/env/bin/python3"
    """Interpreter with torch and transformers, at the same path on every node."""
    dataset: Annotated[str, AfterValidator(_dataset)] = "shipped"
    """Text to train on: ``shipped`` (the public-domain text that comes with the trainer) or a path."""
    context_length: Count = 32_768
    """Tokens in one sample."""
    train_batch_size: Count = 1
    """Samples per rank and step."""
    val_batch_size: Count = 1
    """Samples per rank and validation batch."""
    num_steps: Count = 5_000
    """Steps of the optimizer."""
    num_epochs: Count = 3
    """Passes over the data; training ends with whichever of num_steps and num_epochs comes first."""
    seed: Annotated[int, Field(ge=0)] = 42
    """Orders the samples and starts weights and dropout."""
    learning_rate: Positive = 1e-4
    """Highest learning rate."""
    min_learning_rate: NotNegative = 1e-5
    """Learning rate at the end of the decay."""
    lr_schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Form of the decay."""
    warmup_fraction: Fraction = 0.0032
    """Part of num_steps in which the learning rate rises from zero."""
    plateau_fraction: Fraction = 0.0
    """Part of num_steps, after the warm-up, at the highest rate."""
    weight_decay: NotNegative = 0.2
    """Weight decay of AdamW."""
    beta1: Probability = 0.9
    """Decay of the first moment."""
    beta2: Probability = 0.95
    """Decay of the second moment."""
    grad_clip: Positive = 1.0
    """Largest norm of the whole gradient."""
    attention_dropout: Probability = 0.1
    """Dropout on attention weights."""
    residual_dropout: Probability = 0.1
    """Dropout on residuals."""
    embedding_dropout: Probability = 0.1
    """Dropout on embeddings."""
    initializer_range: Positive = 0.02
    """Standard deviation of the initial weights."""
    rope_theta: Positive = 10_000.0
    """Base of the rotary position embedding."""
    precision: Literal["bf16", "fp32"] = "bf16"
    """Numbers used in forward and backward."""
    activation_checkpointing: bool = True
    """Compute each layer again in the backward pass instead of keeping its activations."""
    activation_offloading: bool = True
    """Keep what is saved for the backward pass in host memory."""
    log_every: Count = 1
    """Steps between two lines in the log."""
    checkpoint_every: Count = 50
    """Steps between two checkpoints."""
    keep_checkpoints: Annotated[int, Field(ge=2)] = 2
    """Checkpoints kept; the newest may be damaged, so at least 2."""
    validate_every: Annotated[int, Field(ge=0)] = 500
    """Steps between two validations; 0 turns validation off."""
    validate_batches: Count = 10
    """Batches per rank and validation."""
    init_timeout_seconds: Count = 1_800
    """How long ranks wait for each other until the first step is done."""
    step_timeout_seconds: Count = 300
    """How long ranks wait for each other afterwards."""

    def faults(self) -> Iterator[Fault]:
        """The learning rate falls, and its parts fit into the run."""
        if self.min_learning_rate > self.learning_rate:
            rule = f"is above learning_rate, {self.learning_rate}"
            yield Fault(
                ("min_learning_rate",), self.min_learning_rate, rule, f"use at most {self.learning_rate}"
            )
        if self.warmup_fraction + self.plateau_fraction > 1:
            rule = f"and warmup_fraction {self.warmup_fraction} are more than the whole run"
            yield Fault(("plateau_fraction",), self.plateau_fraction, rule, "lower one of them")
