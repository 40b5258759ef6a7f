"""The job's settings of the model: shape, values to start from, and how it is spread and computed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from unbroken.config.section import Section
from unbroken.config.training.kinds import Count, Part, Positive, Probability, layers


class ModelSettings(Section):
    """Shape of the model, its values, and how it is spread over the GPUs."""

    preset: Literal["mathstral-7b", "llama3-8b", "llama3-70b", "tiny", "tiny-llama"] = "mathstral-7b"
    """Shape of the model, and the published weights it starts from; the tiny ones, for trying, have none."""
    weights: str | None = None
    """Values to start from: the directory of a Hugging Face model, a name on the hub, or ``scratch`` for
    random values. null: what the preset names."""
    weights_revision: str | None = None
    """Commit, branch or tag of weights on the hub; null: main."""
    model_type: Literal["mistral", "llama"] | None = None
    """Family of the model."""
    vocab_size: Count | None = None
    """Rows of the embedding."""
    hidden_size: Count | None = None
    """Width of the residual stream."""
    intermediate_size: Count | None = None
    """Width inside each MLP."""
    num_hidden_layers: Count | None = None
    """Layers."""
    num_attention_heads: Count | None = None
    """Attention heads."""
    num_key_value_heads: Count | None = None
    """Heads of keys and values."""
    rope_theta: Positive | None = None
    """Base of the rotary position embedding."""
    rotary_fraction: Part | None = None
    """Part of each head that the position embedding turns."""
    attention_dropout: Probability | None = None
    """Of attention weights."""
    residual_dropout: Probability | None = None
    """Of what attention and MLP add to the residual stream."""
    embedding_dropout: Probability | None = None
    """Of what the embedding gives."""
    summary_dropout: Probability | None = None
    """Of the last hidden state, before the output projection."""
    initializer_range: Positive | None = None
    """Standard deviation of random weights."""
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
    activation_checkpointing: Annotated[bool | Literal["full", "selective"], BeforeValidator(layers)] = True
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
