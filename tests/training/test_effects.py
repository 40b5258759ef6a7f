"""Settings that the published job names, seen in what they name: the model, the optimizer, the ranks.

What shows only in a run, or in what is read, is in test_effects_of_runs.py; that an argument sets its setting
is tested beside its table (test_seed_arguments.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.model.world import together
from training.config import JobConfig, parse

BASE = {
    "preset": "tiny",
    "context_length": 32,
    "precision": "fp32",
    "warmup_fraction": 0.1,
    "num_steps": 40,
    "weights": "scratch",
}

# The setting, another value, and all that it may change of what `observed` sees.
EFFECTS: list[tuple[str, Any, set[str]]] = [
    ("vocab_size", 512, {"embedding", "values"}),
    ("hidden_size", 128, {"embedding", "mlp", "attention", "values", "rotary"}),
    ("intermediate_size", 256, {"mlp", "values"}),
    ("num_hidden_layers", 3, {"layers", "values", "dropouts", "attention dropouts"}),
    ("num_attention_heads", 2, {"attention", "rotary", "values"}),
    ("num_key_value_heads", 1, {"attention", "values"}),
    ("model_type", "llama", {"class"}),
    ("rotary_fraction", 0.25, {"rotary"}),
    ("rope_theta", 500.0, {"rotary"}),
    ("initializer_range", 0.05, {"values"}),
    ("residual_dropout", 0.3, {"dropouts"}),
    ("embedding_dropout", 0.3, {"dropouts"}),
    ("summary_dropout", 0.3, {"dropouts"}),
    ("attention_dropout", 0.3, {"attention dropouts"}),
    ("seed", 7, {"values"}),
    ("weight_decay", 0.3, {"optimizer"}),
    ("beta1", 0.8, {"optimizer"}),
    ("beta2", 0.8, {"optimizer"}),
    ("learning_rate", 0.001, {"rates"}),
    ("min_learning_rate", 2e-5, {"rates"}),
    ("lr_schedule", "linear", {"rates"}),
    ("lr_schedule", "constant", {"rates"}),
    ("lr_schedule", "exponential", {"rates"}),
    ("lr_decay_steps", 20, {"rates"}),
    ("warmup_fraction", 0.5, {"rates"}),
    ("plateau_fraction", 0.25, {"rates"}),
    ("num_steps", 50, {"rates"}),
    ("precision", "bf16", {"numbers"}),
    ("activation_checkpointing", False, {"recomputed", "moved"}),
    ("activation_offloading", False, {"moved", "back at once"}),
    ("offload_horizon", 3, {"back at once"}),
    ("limit_all_gathers", False, {"gathered ahead"}),
    ("sharding", "hybrid", {"split"}),
    ("cpu_offload", True, {"host"}),
]


def observed(values: dict[str, Any]) -> dict[str, Any]:
    """What a job makes of its settings, on one of two ranks."""
    from tests.training.model.parts import sharded
    from training.optim import adamw
    from training.schedule import learning_rate

    config = parse({**BASE, **values})
    model: Any = sharded(config, ranks_per_node=1)
    first, names = model.model.layers[0], dict(model.named_parameters())
    group, weight = adamw(model, config).param_groups[0], names["model.layers.0.mlp.up_proj.weight"]
    return {
        **observed_step(model, config),
        **observed_moves(config),
        "class": type(model).__name__.removeprefix("FSDP"),
        "embedding": tuple(names["lm_head.weight"].shape),
        "mlp": tuple(weight.shape),
        "attention": tuple(names["model.layers.0.self_attn.k_proj.weight"].shape)
        + tuple(names["model.layers.0.self_attn.q_proj.weight"].shape)
        + (first.self_attn.head_dim,),
        "layers": len(model.model.layers),
        "rotary": model.model.rotary_emb.inv_freq.tolist(),
        "values": sum(float(each.full_tensor().double().abs().sum()) for each in names.values()),
        "optimizer": (group["weight_decay"], group["betas"]),
        "rates": [learning_rate(step, config) for step in range(1, 61)],
        "gathered ahead": len(first._get_fsdp_state()._states_to_forward_prefetch),
        "split": str(weight.placements),
        "host": type(first._get_fsdp_state()._fsdp_param_group.offload_policy).__name__,
    }


def observed_step(model: Any, config: JobConfig) -> dict[str, Any]:
    """Dropout, number format and recomputing of one step."""
    import torch

    from tests.training.model.parts import loss_of, tokens

    functions: Any = torch.nn.functional
    dropout, attention = functions.dropout, functions.scaled_dot_product_attention
    dropped: list[float] = []
    attended: list[float] = []
    kinds: set[str] = set()
    calls: list[str] = []

    def noting_dropout(value: Any, probability: float, *rest: Any) -> Any:
        dropped.append(probability)
        return dropout(value, probability, *rest)

    def noting_attention(*args: Any, **more: Any) -> Any:
        attended.append(more["dropout_p"])
        return attention(*args, **more)

    functions.dropout, functions.scaled_dot_product_attention = noting_dropout, noting_attention
    first = model.model.layers[0]
    first.mlp.register_forward_hook(lambda module, _, out: kinds.add(str(out.dtype)))
    first.mlp.act_fn.register_forward_hook(lambda *_: calls.append("mlp"))
    loss: Any = loss_of(model, tokens(config, 0))
    computed, once = len(calls), (sorted(dropped), sorted(attended))
    loss.backward()
    functions.dropout, functions.scaled_dot_product_attention = dropout, attention
    return {
        "dropouts": once[0],
        "attention dropouts": once[1],
        "numbers": kinds,
        "recomputed": len(calls) - computed,
    }


def observed_moves(config: JobConfig) -> dict[str, Any]:
    """What five layers move to the host in a step, and how many of them have it back at once; on a CPU, which
    is told to be a device with memory of its own."""
    import torch

    from tests.training.model.parts import CPU, layers_back, loss_of, tokens
    from training.model import memory, shard
    from training.model.build import build
    from training.model.shape import choose
    from training.model.values import allocate, initialise

    shape = replace(choose(config, Path()).shape, num_hidden_layers=5)
    model: Any = build(shape)
    allocate(model, CPU, CPU)
    initialise(model, shape, 1)
    made: list[memory.OffloadedLayers] = []
    moved: list[torch.Tensor] = []
    back: list[int] = []
    kind, to_host = memory.OffloadedLayers, memory._to_host

    def noting(horizon: int) -> memory.OffloadedLayers:
        made.append(kind(horizon))
        return made[-1]

    setattr(shard, "OffloadedLayers", noting)  # noqa: B010  # in this module only
    memory._to_host = lambda tensor: moved.append(tensor) or to_host(tensor)  # type: ignore[func-returns-value]
    shard._wrap_layers(model, config, "cuda")
    for layer in model.model.layers:
        layer.mlp.up_proj.weight.register_hook(lambda _: back.append(sum(len(layers_back(m)) for m in made)))
    loss: Any = loss_of(model, tokens(config, 0))
    loss.backward()
    setattr(shard, "OffloadedLayers", kind)  # noqa: B010
    memory._to_host = to_host
    return {"moved": len(moved), "back at once": max(back)}


def all_observed() -> list[dict[str, Any]]:
    return [observed({}), *(observed({name: value}) for name, value, _ in EFFECTS)]


@pytest.fixture(scope="module")
def seen() -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = together(all_observed, 2)[0]
    return result


@pytest.mark.parametrize("place", range(len(EFFECTS)), ids=lambda p: f"{EFFECTS[p][0]}={EFFECTS[p][1]}")
def test_a_setting_changes_what_it_names_and_nothing_else(seen: list[dict[str, Any]], place: int) -> None:
    base, changed = seen[0], seen[place + 1]
    _, _, expected = EFFECTS[place]
    different = {key for key in base if base[key] != changed[key]}
    assert different and different <= expected
