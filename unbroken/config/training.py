"""The cluster file's ``training`` section: the job's settings, by default the Mathstral-7B job's.

These are the trainer's settings as a user writes them; what the trainer does with them is in ``training/``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from unbroken.config.fields import Fraction, Probability
from unbroken.config.section import Section

Positive = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0.0)]


class ModelConfig(Section):
    """Sizes of the model. They must agree with the weights' own config unless training from scratch."""

    model_type: Literal["mistral"] = "mistral"
    """Architecture."""
    vocab_size: Positive = 32768
    """Tokens in the vocabulary."""
    hidden_size: Positive = 4096
    """Width."""
    intermediate_size: Positive = 14336
    """Width of the feed-forward layers."""
    num_layers: Positive = 32
    """Decoder layers."""
    num_heads: Positive = 32
    """Attention heads."""
    num_kv_heads: Positive = 8
    """Key and value heads."""
    max_context: Positive = 32768
    """Longest context, tokens."""
    initializer_range: PositiveFloat = 0.02
    """Standard deviation of the initial weights."""
    rotary_pct: Fraction = 0.25
    """Share of each head that is rotated."""
    rotary_base: PositiveFloat = 10000.0
    """Base of the rotary embedding (theta)."""
    resid_dropout: Probability = 0.1
    """Dropout on residuals."""
    embd_dropout: Probability = 0.1
    """Dropout on embeddings."""
    attn_dropout: Probability = 0.1
    """Dropout on attention."""
    summary_dropout: Probability = 0.1
    """Dropout on the summary head."""


class DataConfig(Section):
    """What is read."""

    dataset: str = "c4"
    """Name of the data set."""
    subset: str = "en"
    """Its configuration."""
    streaming: bool = True
    """Read while training, without a full download."""
    tokenizer: str = "mistralai/mathstral-7B-v0.1"
    """Name of the tokenizer."""
    train_batch_size: Positive = 1
    """Sequences in a rank's training batch."""
    val_batch_size: Positive = 1
    """Sequences in a rank's validation batch."""


class OptimizerConfig(Section):
    """AdamW and its learning rate."""

    lr: PositiveFloat = 1e-4
    """Highest learning rate."""
    min_lr: Annotated[float, Field(ge=0.0)] = 1e-5
    """Learning rate at the end."""
    schedule: Literal["cosine"] = "cosine"
    """Shape of the decay."""
    warmup: Fraction = 0.0032
    """Share of the steps that warm up."""
    plateau: Fraction = 0.0
    """Share of the steps at the lowest rate, at the end."""
    beta1: Probability = 0.9
    """Decay of the first moment."""
    beta2: Probability = 0.95
    """Decay of the second moment."""
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.2
    """Weight decay."""
    grad_clip: PositiveFloat = 1.0
    """Largest norm of the gradient."""


class TrainingConfig(Section):
    """One job."""

    preset: Literal["mathstral-7b", "tiny"] = "mathstral-7b"
    """Which model; ``tiny`` is the one the rehearsal trains."""
    num_steps: Positive = 5000
    """Steps of the optimizer."""
    epochs: Positive = 3
    """Most passes over the data; the steps end first."""
    seed: Annotated[int, Field(ge=0)] = 42
    """Seed of weights, data order and dropout."""
    log_every: Positive = 1
    """Steps between log lines."""
    checkpoint_every: Positive = 50
    """Steps between checkpoints."""
    checkpoint_dir: str = "./checkpoints/mathstral-7B"
    """Where checkpoints are written and looked for at the start; relative to the job's folder."""
    validate_every: Positive = 500
    """Steps between validations."""
    activation_checkpointing: bool = True
    """Compute activations again in the backward pass."""
    offload_activations: bool = True
    """Keep checkpointed activations in the host's memory."""
    sharding: Literal["full"] = "full"
    """Shard weights, gradients and moments over all ranks."""
    limit_all_gathers: bool = True
    """Bound the all-gathers in flight."""
    python: str = "/fsx/unbroken/env/bin/python3"
    """Interpreter that runs the trainer on every node."""
    model: ModelConfig = ModelConfig()
    """Sizes of the model."""
    data: DataConfig = DataConfig()
    """What is read."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """How it is optimized."""
