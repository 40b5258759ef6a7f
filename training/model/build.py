"""A Mistral model from a preset, on the meta device: no memory is taken, and its parameters are counted."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers.models.mistral.configuration_mistral import MistralConfig
from transformers.models.mistral.modeling_mistral import MistralForCausalLM

from training.config import JobConfig
from training.model.presets import PRESETS


def build(config: JobConfig) -> nn.Module:
    """The model on the meta device; takes no memory. Its parameter count is checked against the preset's."""
    with torch.device("meta"):
        model: nn.Module = MistralForCausalLM(_hugging_face_config(config))
    expected = PRESETS[config.preset].num_parameters
    found = sum(parameter.numel() for parameter in model.parameters())
    if found != expected:
        raise AssertionError(f"preset {config.preset}: {found} parameters, not {expected}")
    return model


def _hugging_face_config(config: JobConfig) -> MistralConfig:
    shape = PRESETS[config.preset]
    implementation: dict[str, Any] = {"attn_implementation": "sdpa"}
    return MistralConfig(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=shape.max_context_length,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        initializer_range=config.initializer_range,
        attention_dropout=config.attention_dropout,
        sliding_window=None,  # the library's default of 4096 would cut longer contexts short
        use_cache=False,
        **implementation,
    )


def layers(model: nn.Module) -> list[nn.Module]:
    """The decoder's layers, first to last."""
    return list(model.get_submodule("model.layers").children())
