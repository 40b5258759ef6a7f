"""Settings of the model: shape, values to start from, dropout, and how it is spread and computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from training.config.kinds import Count, Part, Positive, Probability
from training.config.problems import Problem, Rule
from training.model.presets import PRESETS


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """What is null is the preset's own; with loaded weights, what their config.json says."""

    preset: str = "mathstral-7b"
    """Shape of the model, a name of training/model/presets.py."""
    weights: str | None = None
    """Values to start from: the directory of a Hugging Face model (relative to the job file), a name on the
    hub, or `scratch` for random values. null: what the preset names."""
    weights_revision: str | None = None
    """Commit, branch or tag of weights on the hub; null: main."""
    model_type: Literal["mistral", "llama"] | None = None
    vocab_size: Count | None = None
    hidden_size: Count | None = None
    intermediate_size: Count | None = None
    num_hidden_layers: Count | None = None
    num_attention_heads: Count | None = None
    num_key_value_heads: Count | None = None
    rope_theta: Positive | None = None
    """Base of the rotary position embedding."""
    rotary_fraction: Part | None = None
    """Part of each head that the position embedding turns."""
    attention_dropout: Probability | None = None
    residual_dropout: Probability | None = None
    """Of what attention and MLP add to the residual stream."""
    embedding_dropout: Probability | None = None
    summary_dropout: Probability | None = None
    """Of the last hidden state, before the output projection."""
    initializer_range: Positive | None = None
    """Standard deviation of random weights."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """cpu (gloo), cuda (nccl), or auto: cuda where there is a GPU."""
    precision: Literal["bf16", "fp32"] = "bf16"
    """Numbers used in forward and backward: bf16 (gradients are summed in fp32) or fp32."""
    sharding: Literal["full", "hybrid"] = "full"
    """full: parameters are split over all ranks. hybrid: split over the ranks of a group, and each group has
    a copy; less traffic between nodes for more memory."""
    shard_group_size: Count | None = None
    """Ranks of a group with hybrid sharding; null: the ranks of a node."""
    reshard_after_forward: bool = True
    """Give a layer's gathered parameters back after its forward pass and gather them again for backward."""
    limit_all_gathers: bool = True
    """Gather one layer ahead; false gathers two ahead, for more memory."""
    activation_checkpointing: bool | Literal["full", "selective"] = True
    """Compute again in the backward pass instead of keeping: true or full, whole layers; selective, all but
    matrix products and attention."""
    activation_offloading: bool = True
    """Keep what is saved for the backward pass in host memory instead of GPU memory."""
    offload_horizon: Count = 2
    """Offloaded layers whose saved values may be in GPU memory at once."""
    cpu_offload: bool = False
    """Keep shards, gradients and optimizer state in host memory; the optimizer runs there."""
    compile: bool = False
    """torch.compile of each layer."""


SHARED = tuple(
    "preset model_type vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads "
    "num_key_value_heads rope_theta rotary_fraction".split()
)


def _preset_is_known(settings: ModelSettings) -> list[Problem]:
    if settings.preset in PRESETS:
        return []
    hint = "use one of " + ", ".join(PRESETS)
    return [Problem("preset", f"{settings.preset!r} is not offered", hint)]


def _groups_are_for_hybrid(settings: ModelSettings) -> list[Problem]:
    if settings.shard_group_size is None or settings.sharding == "hybrid":
        return []
    hint = "set sharding: hybrid, or leave it out"
    return [Problem("shard_group_size", "has no meaning with full sharding", hint)]


RULES: tuple[Rule, ...] = (_preset_is_known, _groups_are_for_hybrid)
