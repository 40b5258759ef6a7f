"""A model from its shape, on the meta device: no memory is taken, and its parameters are counted."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from training.model import documents
from training.model.presets import Shape


def build(shape: Shape) -> nn.Module:
    """The model on the meta device; takes no memory. Its parameter count is checked against the shape's."""
    with torch.device("meta"):
        model: nn.Module = _class(shape)(hugging_face_config(shape))
    found = sum(parameter.numel() for parameter in model.parameters())
    if found != shape.num_parameters:
        raise AssertionError(f"{found} parameters, not {shape.num_parameters}")
    return model


def hugging_face_config(shape: Shape) -> Any:
    """The library's configuration of a shape, as it is also written into an exported directory."""
    own: dict[str, Any] = {}
    if shape.model_type == "mistral":
        own["sliding_window"] = None  # the library's default of 4096 would cut longer contexts short
    return _class(shape).config_class(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=shape.max_context_length,
        rope_parameters=_rotary(shape),
        rms_norm_eps=shape.rms_norm_eps,
        tie_word_embeddings=shape.tie_word_embeddings,
        initializer_range=shape.initializer_range,
        attention_dropout=shape.attention_dropout,
        use_cache=False,
        attn_implementation=documents.NAME,
        **own,
    )


def layers(model: nn.Module) -> list[nn.Module]:
    """The decoder's layers, first to last."""
    return list(model.get_submodule("model.layers").children())


def _class(shape: Shape) -> Any:
    # imported one at a time: a restart waits for imports
    if shape.model_type == "llama":
        from transformers.models.llama.modeling_llama import LlamaForCausalLM

        return LlamaForCausalLM
    from transformers.models.mistral.modeling_mistral import MistralForCausalLM

    return MistralForCausalLM


def _rotary(shape: Shape) -> dict[str, Any]:
    """The library's name for turning a part of each head is `proportional`. Its frequencies are powers over
    the whole head; those of the definition (GPT-NeoX) over the part, which another base makes equal."""
    if shape.rotary_fraction < 1:
        return {
            "rope_type": "proportional",
            "rope_theta": shape.rope_theta ** (1 / shape.rotary_fraction),
            "partial_rotary_factor": shape.rotary_fraction,
        }
    return {"rope_type": "default", **(shape.rope_scaling or {}), "rope_theta": shape.rope_theta}
