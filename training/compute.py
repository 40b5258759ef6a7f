"""Arithmetic of a step, and what GPUs can do, as data: for plans before a run and utilisation within one.

No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass

from training.model.presets import Shape


@dataclass(frozen=True)
class Device:
    """A GPU's peak rate of dense bf16 arithmetic, in operations a second, and its memory in GiB, as its
    maker states them."""

    peak_flops: float
    memory_gib: int


# Source: NVIDIA's data sheets. Where they give the rate with sparsity, half of it. A card for PCIe stands
# before the module of the same name: the first entry whose words are all in the driver's name counts.
DEVICES: dict[str, Device] = {
    "A100-40GB": Device(312e12, 40),
    "A100-80GB": Device(312e12, 80),
    "H100-PCIE": Device(756e12, 80),
    "H100-NVL": Device(835e12, 94),
    "H100": Device(989e12, 80),
    "H200-NVL": Device(835e12, 141),
    "H200": Device(989e12, 141),
    "B200": Device(2_250e12, 180),
    "L4": Device(121e12, 24),
    "L40S": Device(362e12, 48),
}


def gpu_named(name: str) -> str | None:
    """The key for the name a driver gives, such as `NVIDIA A100-SXM4-80GB`; None for one not listed."""
    words = name.upper().replace("-", " ").split()
    return next((key for key in DEVICES if all(part in words for part in key.upper().split("-"))), None)


def device_named(name: str) -> Device | None:
    """Its entry."""
    return DEVICES.get(gpu_named(name) or "")


def flops_per_token(shape: Shape, document_length: float) -> float:
    """Operations for one token, forward and backward: 6 a parameter, and attention over its whole document.

    As in the PaLM paper (arXiv 2204.02311, appendix B), so that utilisations can be compared: what causal
    attention leaves out and what is computed again count as nothing gained or lost. Where documents are not
    kept apart, the context is one.
    """
    attention = 12 * shape.num_hidden_layers * shape.num_attention_heads * shape.head_dim * document_length
    return float(6 * shape.num_parameters + attention)
