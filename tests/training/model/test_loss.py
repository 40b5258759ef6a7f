"""The loss of tokens taken some at a time is that of all at once, and keeps less; what is gathered for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training import ranks
from tests.training.model.world import together

PRESETS = ["tiny", "tiny-llama"]
"""With two matrices for embedding and output, and with one."""


def some_at_a_time(preset: str, at_once: int) -> tuple[float, Any, list[str]]:
    """Loss, gradients, and what FSDP gathers and sums in one step of two ranks."""
    import torch
    import torch.distributed as dist

    from tests.training.model.parts import job, sharded, tokens, whole
    from training.model import presets

    asked: list[str] = []
    collectives: Any = dist

    def noting(name: str) -> None:
        original = getattr(collectives, name)

        def run(output: Any, *inputs: Any, **how: Any) -> Any:
            asked.append(name)
            return original(output, *inputs, **how)

        setattr(collectives, name, run)

    presets._LOGITS_AT_ONCE = at_once * 384
    config = job(preset=preset)
    model = sharded(config)
    ids = tokens(config, dist.get_rank())
    for name in ("all_gather_single", "reduce_scatter_single"):
        noting(name)
    loss = model(input_ids=ids[:, :-1], targets=ids[:, 1:])
    loss.backward()
    gradients = torch.cat([whole(each.grad).flatten() for each in model.parameters()])
    return loss.item(), gradients.tolist(), asked


@pytest.mark.parametrize("preset", PRESETS)
def test_some_tokens_at_a_time_give_the_same_numbers(preset: str) -> None:
    (whole_loss, whole_gradients, whole_asked), _ = together(some_at_a_time, 2, preset, 1000)
    (loss, gradients, asked), _ = together(some_at_a_time, 2, preset, 7)
    assert loss == pytest.approx(whole_loss, rel=1e-6)
    assert gradients == pytest.approx(whole_gradients, rel=1e-4, abs=1e-7)
    assert asked == whole_asked and asked, "the output's matrix is gathered once for all of them"


def kept_of(tokens_at_once: int, length: int) -> int:
    """Bytes that a forward pass keeps for the backward pass between the last hidden states and the loss."""
    from dataclasses import replace

    import torch

    from training.model import presets
    from training.model.build import build
    from training.model.loss import give_loss
    from training.model.values import allocate, initialise

    presets._LOGITS_AT_ONCE = tokens_at_once * 384
    shape = replace(presets.PRESETS["tiny"].shape)
    cpu = torch.device("cpu")
    model: Any = build(shape)
    allocate(model, cpu, cpu)
    initialise(model, shape, 1)
    give_loss(model, shape)
    hidden = torch.randn(1, length, shape.hidden_size, requires_grad=True)
    kept: dict[int, int] = {}

    def keep(each: Any) -> Any:
        kept[each.untyped_storage().data_ptr()] = each.untyped_storage().nbytes()
        return each

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda each: each):
        model.lm_head(hidden, torch.zeros(1, length, dtype=torch.int64))
    return sum(kept.values())


def test_logits_are_kept_of_a_part_only() -> None:
    all_kept, part = (ranks.call(kept_of, at_once, 1024) for at_once in (1024, 64))
    one = 4 * 384  # bytes of a token's log-probabilities
    assert all_kept - part == pytest.approx((1024 - 64) * one, rel=0.05)


def gathered(preset: str) -> dict[str, list[bool]]:
    """Whether embedding and output are gathered when the first layer begins, and in its backward pass."""
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor

    from tests.training.model.parts import job, sharded, tokens

    config = job(preset=preset)
    model: Any = sharded(config)
    found: dict[str, list[bool]] = {}

    def note(name: str) -> None:
        weights = (model.model.embed_tokens.weight, model.lm_head.weight)
        found[name] = [not isinstance(weight, DTensor) for weight in weights]

    first = model.model.layers[0]
    first.register_forward_pre_hook(lambda *_: note("forward"))
    first.mlp.up_proj.register_full_backward_pre_hook(lambda *_: note("backward"))
    ids = tokens(config, dist.get_rank())
    model(input_ids=ids[:, :-1], targets=ids[:, 1:]).backward()
    return found


def test_embedding_and_output_are_gathered_while_they_are_used() -> None:
    assert together(gathered, 2, "tiny")[0] == {"forward": [False, False], "backward": [False, False]}


def test_where_they_are_one_it_stays() -> None:
    assert together(gathered, 2, "tiny-llama")[0] == {"forward": [True, True], "backward": [True, True]}
