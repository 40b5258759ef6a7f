"""Memory of one rank in bytes, part by part: derived from the model's code, and tested against it.

No torch here. Saved activations are counted for attention that keeps no matrix of scores (flash attention).
"""

from __future__ import annotations

from dataclasses import dataclass

from training.config import JobConfig
from training.model.presets import Shape

FP32 = 4


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Bytes of one rank. With cpu_offload the first three are in the host's memory."""

    weights: int
    gradients: int
    optimizer: int
    gathered: int
    """Parameters gathered for the layers at work, and the gradients of one before they are shared out."""
    activations: int
    """Kept for the backward pass, and what the layer at work needs on top."""
    logits: int
    on_host: bool = False

    @property
    def gpu(self) -> int:
        """All that must be in the GPU's memory at the worst moment."""
        state = 0 if self.on_host else self.weights + self.gradients + self.optimizer
        return state + self.gathered + self.activations + self.logits


def estimate(shape: Shape, config: JobConfig, shards: int) -> Memory:
    """Memory of a rank when the parameters are split over `shards` ranks."""
    mine = -(-shape.num_parameters // shards)
    tokens = config.train_batch_size * config.context_length
    number = number_bytes(config)
    return Memory(
        weights=FP32 * mine,
        gradients=FP32 * mine,
        optimizer=2 * FP32 * mine,
        gathered=_gathered(shape, config, number),
        activations=_activations(shape, config, tokens, number),
        logits=min(tokens, shape.tokens_at_once) * shape.vocab_size * logit_bytes(number),
        on_host=config.cpu_offload,
    )


def number_bytes(config: JobConfig) -> int:
    """Bytes of one number in forward and backward."""
    return 2 if config.precision == "bf16" else FP32


def logit_bytes(number: int) -> int:
    """Per logit, in the backward pass: its log-probability and the gradient of that in fp32, and the
    gradient in the model's own numbers where those are others."""
    return 2 * FP32 + (number if number != FP32 else 0)


def _gathered(shape: Shape, config: JobConfig, number: int) -> int:
    """Two layers, three or all by the settings, beside the output with the last norm, or the embedding; both
    where they are one or all stays. And gradients of what is at work, twice while they are turned into fp32
    for the sum over the ranks."""
    layer, edge = layer_parameters(shape), shape.hidden_size * (shape.vocab_size + 1)
    layers = 2 if config.limit_all_gathers else 3
    if not config.reshard_after_forward:
        layers = shape.num_hidden_layers
        edge = shape.num_parameters - layers * layer
    return number * (edge + layers * layer) + (number + FP32) * max(layer, edge)


def layer_parameters(shape: Shape) -> int:
    """Parameters of one layer."""
    heads, kept = shape.num_attention_heads * shape.head_dim, shape.num_key_value_heads * shape.head_dim
    return shape.hidden_size * (2 * heads + 2 * kept + 3 * shape.intermediate_size + 2)


def _activations(shape: Shape, config: JobConfig, tokens: int, number: int) -> int:
    whole = layer_activations(shape, tokens, number)
    kept = kept_activations(shape, config, tokens, number)
    layers = shape.num_hidden_layers
    if config.activation_offloading:
        layers = min(layers, config.offload_horizon)
    recomputed = whole if config.activation_checkpointing else 0
    mask = _document_mask(shape, config, number)
    return layers * kept + recomputed + edge_activations(shape, tokens, number) + mask


def _document_mask(shape: Shape, config: JobConfig, number: int) -> int:
    """Which token attends to which, once as truth values and once as numbers; attention that takes documents
    one by one needs none (model/documents.py says when it is used)."""
    one_by_one = config.precision == "bf16" and shape.attention_dropout == 0
    if one_by_one or not config.document_masking:
        return 0
    return int(config.train_batch_size * config.context_length**2 * (1 + number))


def kept_activations(shape: Shape, config: JobConfig, tokens: int, number: int) -> int:
    """What one layer keeps for its backward pass."""
    residual = number * tokens * shape.hidden_size
    if config.activation_checkpointing == "selective":
        return residual + _selected(shape, tokens, number)
    return residual if config.activation_checkpointing else layer_activations(shape, tokens, number)


def layer_activations(shape: Shape, tokens: int, number: int) -> int:
    """What a layer keeps when nothing is computed again."""
    width, inter = shape.hidden_size, shape.intermediate_size
    heads, kept = shape.num_attention_heads * shape.head_dim, shape.num_key_value_heads * shape.head_dim
    # a norm: its input in fp32, the scale of each token, its result before and after the weights
    norms = 2 * tokens * (FP32 * width + FP32 + 2 * number * width)
    # attention: queries, keys, values, the result, and one sum of each head and token
    attention = tokens * (number * (2 * heads + 2 * kept) + FP32 * shape.num_attention_heads)
    # the MLP: gate before and after its function, up, and their product
    mlp = 4 * number * tokens * inter
    return norms + attention + mlp + _masks(shape, tokens)


def _selected(shape: Shape, tokens: int, number: int) -> int:
    """Results of the matrix products and of attention."""
    heads, kept = shape.num_attention_heads * shape.head_dim, shape.num_key_value_heads * shape.head_dim
    products = heads + 2 * kept + shape.hidden_size + 2 * shape.intermediate_size + shape.hidden_size
    return tokens * (number * (products + heads) + FP32 * shape.num_attention_heads)


def _masks(shape: Shape, tokens: int) -> int:
    """One byte an element of the two dropouts on what a layer adds."""
    return 2 * tokens * shape.hidden_size if shape.residual_dropout else 0


def edge_activations(shape: Shape, tokens: int, number: int) -> int:
    """Kept before the first layer and after the last: token numbers, positions' cosines and sines, the last
    norm."""
    rotary = 2 * number * tokens * shape.head_dim
    return 8 * tokens + rotary + tokens * (FP32 * shape.hidden_size + FP32 + 2 * number * shape.hidden_size)
