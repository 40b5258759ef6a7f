"""The loss of a model's predictions, without the logits of all tokens in memory at once.

torch.nn.functional.linear_cross_entropy does without them too, but gives the loss of a model in bf16 as a
number in bf16, which has three digits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from training.model.presets import Shape


def give_loss(model: nn.Module, shape: Shape) -> None:
    """Let the model, where it is called with `targets`, return their mean loss instead of logits.

    Call it before the model is split: FSDP gathers the output's matrix once for all parts of the tokens.
    """
    decoder, output = model.get_submodule("model"), model.get_submodule("lm_head")
    logits_of, project = model.forward, output.forward

    def forward(*inputs: Any, targets: torch.Tensor | None = None, **more: Any) -> Any:
        if targets is None:
            return logits_of(*inputs, **more)
        return output(decoder(*inputs, **more).last_hidden_state, targets)

    def summed(hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(project(hidden).float(), targets, reduction="sum")

    def predict(hidden: torch.Tensor, targets: torch.Tensor | None = None) -> Any:
        if targets is None:
            return project(hidden)
        whole = hidden.flatten(0, 1), targets.flatten()
        *others, last = zip(*(torch.split(each, shape.tokens_at_once) for each in whole), strict=True)
        losses = [_recomputed(summed, *part) for part in others]
        losses.append(summed(*last))  # its backward pass comes first: nothing is gained by computing it again
        return torch.stack(losses).sum() / targets.numel()

    model.forward, output.forward = forward, predict


def _recomputed(function: Any, *inputs: torch.Tensor) -> Any:
    return checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)
