"""Ways to spread and compute a model: they differ in what they should, and give the same numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training.model.world import together

WAYS: dict[str, dict[str, Any]] = {
    "plain": {"activation_checkpointing": False},
    "recomputed": {},
    "selective": {"activation_checkpointing": "selective"},
    "hybrid": {"sharding": "hybrid"},
    "kept after forward": {"reshard_after_forward": False},
    "gathered two ahead": {"limit_all_gathers": False},
    "in host memory": {"cpu_offload": True},
    "compiled": {"compile": True},
    "compiled and selective": {"compile": True, "activation_checkpointing": "selective"},
    "bf16": {"precision": "bf16"},
}

WEIGHT = "model.layers.0.mlp.up_proj.weight"


def steps(values: dict[str, Any], dropout: float = 0.0) -> dict[str, Any]:
    """Two optimizer steps: losses, gradient norms, and how the first layer's parameters are laid out."""
    import functools

    import torch
    import torch.distributed as dist

    from tests.training.model.parts import job, sharded, tokens
    from training.optim import adamw

    # the compiler's own translation to machine code takes minutes here and is not ours to test
    torch.compile = functools.partial(torch.compile, backend="aot_eager")
    config = job(grad_clip=0.5, residual_dropout=dropout, attention_dropout=dropout, **values)
    model = sharded(config, ranks_per_node=2)
    seen: list[str] = []
    model.get_submodule("model.layers.0.mlp").register_forward_hook(
        lambda module, _, out: seen.append(f"{out.dtype} from {module.up_proj.weight.dtype}")
    )
    optimizer = adamw(model, config)
    torch.manual_seed(dist.get_rank())
    made = [one_step(model, optimizer, tokens(config, dist.get_rank()), config.grad_clip) for _ in range(2)]
    weight: Any = model.get_parameter(WEIGHT)
    return {
        **made[-1],
        "numbers": [each["numbers"] for each in made],
        "mine": weight.to_local().detach().flatten()[:4].tolist(),
        "rows": weight.to_local().shape[0],
        "placements": str(weight.placements),
        "numbers of forward": seen[0] if seen else "",
    }


def one_step(model: Any, optimizer: Any, ids: Any, grad_clip: float) -> dict[str, Any]:
    """Loss and norm of one step, and what became of one gradient."""
    import torch

    from tests.training.model.parts import loss_of

    loss: Any = loss_of(model, ids)
    loss.backward()
    gradient: Any = model.get_parameter(WEIGHT).grad
    mine = gradient.to_local()
    rounded = bool((mine.bfloat16() == mine).all())
    norm: Any = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    clipped: Any = torch.nn.utils.get_total_norm([each.grad for each in model.parameters()])
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return {
        "numbers": (loss.item(), float(norm.full_tensor())),
        "rounded": rounded,
        "gradient": f"{gradient.dtype} on {gradient.device} {gradient.placements}",
        "clipped": float(clipped.full_tensor()),
    }


@pytest.fixture(scope="module")
def by_way() -> dict[str, list[dict[str, Any]]]:
    by_rank = together(all_ways, 4, list(WAYS.values()))
    return {way: [found[place] for found in by_rank] for place, way in enumerate(WAYS)}


def all_ways(ways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [steps(way) for way in ways]


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("plain", "bf16")])
def test_every_way_gives_the_same_numbers(by_way: dict[str, list[dict[str, Any]]], way: str) -> None:
    for plain, other in zip(by_way["plain"], by_way[way], strict=True):
        for one, two in zip(plain["numbers"], other["numbers"], strict=True):
            assert two == pytest.approx(one, rel=1e-5)


def test_full_sharding_splits_over_all_ranks_and_hybrid_within_groups(
    by_way: dict[str, list[dict[str, Any]]],
) -> None:
    full, hybrid = by_way["plain"], by_way["hybrid"]
    assert [rank["rows"] for rank in full] == [32] * 4
    assert [rank["rows"] for rank in hybrid] == [64] * 4
    assert {rank["placements"] for rank in hybrid} == {"(Replicate(), Shard(dim=0))"}
    assert hybrid[0]["mine"] == hybrid[2]["mine"] and hybrid[1]["mine"] == hybrid[3]["mine"]
    assert hybrid[0]["mine"] != hybrid[1]["mine"]


def test_copies_are_given_the_same_gradient(by_way: dict[str, list[dict[str, Any]]]) -> None:
    """Each rank reads another text; the groups' parameters stay the same only if gradients are reduced over
    both dimensions, and the numbers are those of full sharding only if every rank's text is in them."""
    hybrid = by_way["hybrid"]
    assert len({rank["numbers"][0][0] for rank in hybrid}) == 4, "the ranks' own losses differ"
    assert len({rank["numbers"][0][1] for rank in hybrid}) == 1
    assert "Replicate(), Shard" in hybrid[0]["gradient"]


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_is_clipped_whatever_the_way(by_way: dict[str, list[dict[str, Any]]], way: str) -> None:
    for rank in by_way[way]:
        assert rank["numbers"][-1][1] > 0.5
        assert rank["clipped"] == pytest.approx(0.5, rel=1e-3)


def test_bf16_computes_in_bf16_and_adds_up_in_fp32(by_way: dict[str, list[dict[str, Any]]]) -> None:
    for plain, half in zip(by_way["plain"], by_way["bf16"], strict=True):
        assert half["numbers of forward"] == "torch.bfloat16 from torch.bfloat16"
        assert plain["numbers of forward"] == "torch.float32 from torch.float32"
        assert half["gradient"].startswith("torch.float32")
        assert not half["rounded"], "a sum in bf16 would be"
        assert half["numbers"] != plain["numbers"]
        assert half["numbers"][1][0] == pytest.approx(plain["numbers"][1][0], rel=2e-2)


def lengths(grad_clip: float) -> tuple[float, float]:
    """The gradient's norm as a step says it, and as the optimizer is given it."""
    import numpy as np
    import torch

    from tests.training.model.parts import CPU, job, sharded
    from training.data.batch import Batch
    from training.optim import adamw
    from training.step import Stepper

    config = job()
    model = sharded(config)
    optimizer = adamw(model, config)
    given: list[float] = []

    def note(*_: Any) -> None:
        gradients: list[Any] = [each.grad for each in model.parameters()]
        norm: Any = torch.nn.utils.get_total_norm(gradients)
        given.append(float(norm.full_tensor()))

    optimizer.register_step_pre_hook(note)
    stepper = Stepper(model, optimizer, CPU, grad_clip, has_flash=False, compiled=False)
    batch = Batch(np.arange(33, dtype=np.int64)[None], None)
    _, norm = stepper.step([batch], 1, 1e-3)
    return float(norm), given[0]


def test_a_limit_of_0_leaves_the_gradient_as_it_is() -> None:
    ((said, given),) = together(lengths, 1, 0.0)
    assert given == said > 0.1
    ((_, scaled),) = together(lengths, 1, said / 2)
    assert scaled == pytest.approx(said / 2, rel=1e-3)
