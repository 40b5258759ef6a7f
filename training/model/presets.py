"""Model shapes as data: one entry a preset, with its source and the exact parameter count it must have.

No torch here, so that a configuration is checked before anything heavy is imported. Building the model from a
shape is build.py's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SCRATCH = "scratch"
"""In place of weights: start from random values."""
_LOGITS_AT_ONCE = 1 << 27


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What decides the numbers of a Mistral- or Llama-type decoder; names as in its config.json."""

    model_type: str
    """mistral or llama."""
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_context_length: int
    """Longest sequence in tokens the shape is meant for."""
    rope_theta: float
    rope_scaling: Mapping[str, float | str] | None = None
    """How the rotary frequencies are stretched (`rope_type` and its numbers); None leaves them alone."""
    rotary_fraction: float = 1.0
    rms_norm_eps: float = 1e-5
    tie_word_embeddings: bool = False
    """The output projection is the embedding itself."""
    initializer_range: float = 0.02
    attention_dropout: float = 0.0
    residual_dropout: float = 0.0
    embedding_dropout: float = 0.0
    summary_dropout: float = 0.0

    @property
    def num_parameters(self) -> int:
        """Exact count over all tensors."""
        heads, kept = self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim
        attention = self.hidden_size * (heads + 2 * kept) + heads * self.hidden_size
        layer = attention + 3 * self.hidden_size * self.intermediate_size + 2 * self.hidden_size
        embedding = self.vocab_size * self.hidden_size * (1 if self.tie_word_embeddings else 2)
        return embedding + self.num_hidden_layers * layer + self.hidden_size

    @property
    def tokens_at_once(self) -> int:
        """Tokens whose logits are in memory together."""
        return max(1, _LOGITS_AT_ONCE // self.vocab_size)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A shape with a name. `weights` is where its values come from when the job does not say: a name on the
    Hugging Face hub, or SCRATCH."""

    shape: Shape
    num_parameters: int
    """Published count; the shape's own and that of the model on the meta device must be the same."""
    weights: str = SCRATCH


PRESETS: dict[str, Preset] = {
    # Source: config.json of mistralai/Mathstral-7B-v0.1.
    "mathstral-7b": Preset(
        num_parameters=7_248_023_552,
        weights="mistralai/Mathstral-7B-v0.1",
        shape=Shape(
            model_type="mistral",
            vocab_size=32_768,
            hidden_size=4_096,
            intermediate_size=14_336,
            num_hidden_layers=32,
            num_attention_heads=32,
            num_key_value_heads=8,
            head_dim=128,
            max_context_length=32_768,
            rope_theta=1_000_000.0,
        ),
    ),
    # Source: config.json of meta-llama/Meta-Llama-3-8B.
    "llama3-8b": Preset(
        num_parameters=8_030_261_248,
        weights="meta-llama/Meta-Llama-3-8B",
        shape=Shape(
            model_type="llama",
            vocab_size=128_256,
            hidden_size=4_096,
            intermediate_size=14_336,
            num_hidden_layers=32,
            num_attention_heads=32,
            num_key_value_heads=8,
            head_dim=128,
            max_context_length=8_192,
            rope_theta=500_000.0,
        ),
    ),
    # Source: config.json of meta-llama/Meta-Llama-3-70B.
    "llama3-70b": Preset(
        num_parameters=70_553_706_496,
        weights="meta-llama/Meta-Llama-3-70B",
        shape=Shape(
            model_type="llama",
            vocab_size=128_256,
            hidden_size=8_192,
            intermediate_size=28_672,
            num_hidden_layers=80,
            num_attention_heads=64,
            num_key_value_heads=8,
            head_dim=128,
            max_context_length=8_192,
            rope_theta=500_000.0,
        ),
    ),
    # For rehearsals and tests on CPUs: seconds instead of weeks. Rotary base and dropout as in the published
    # job's arguments, which suit values that are random at first.
    "tiny": Preset(
        num_parameters=123_200,
        shape=Shape(
            model_type="mistral",
            vocab_size=384,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_context_length=1_024,
            rope_theta=10_000.0,
            rms_norm_eps=1e-6,
            attention_dropout=0.1,
            residual_dropout=0.1,
            embedding_dropout=0.1,
        ),
    ),
    # The other architecture at that size, with what Llama 3.1 and 3.2 add: stretched frequencies and one
    # matrix for embedding and output.
    "tiny-llama": Preset(
        num_parameters=98_624,
        shape=Shape(
            model_type="llama",
            vocab_size=384,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_context_length=1_024,
            rope_theta=500_000.0,
            rope_scaling={
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 128,
            },
            tie_word_embeddings=True,
        ),
    ),
}
