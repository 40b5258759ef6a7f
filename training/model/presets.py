"""Model shapes as data: one entry a preset, with the exact parameter count it must have.

No torch here, so that a configuration is checked before anything heavy is imported. Building the model from a
preset is model.py's work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The shape of a Mistral-type decoder; names as in its Hugging Face configuration."""

    num_parameters: int
    """Exact count over all tensors, checked on the meta device before any memory is taken."""
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_context_length: int
    """Longest sequence in tokens the shape is meant for."""


PRESETS: dict[str, Preset] = {
    # The shape published with mistralai/mathstral-7B-v0.1.
    "mathstral-7b": Preset(
        num_parameters=7_248_023_552,
        vocab_size=32_768,
        hidden_size=4_096,
        intermediate_size=14_336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        max_context_length=32_768,
    ),
    # For rehearsals and tests on CPUs: the same architecture, seconds instead of weeks.
    "tiny": Preset(
        num_parameters=123_200,
        vocab_size=384,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_context_length=1_024,
    ),
}
