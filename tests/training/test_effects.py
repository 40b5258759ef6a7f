"""Settings that the published job names, seen in what they name: the model, the optimizer, the ranks, a run.

That an argument sets its setting is tested beside its table (test_seed_arguments.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
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
    ("activation_checkpointing", False, {"recomputed"}),
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


@pytest.fixture(scope="module")
def base_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def changed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(
        tmp_path_factory.mktemp("changed"),
        train_batch_size=1,
        num_steps=8,
        log_every=2,
        checkpoint_every=3,
        validate_every=4,
        same_seed=True,
    )


def run_with(directory: Path, **changes: Any) -> Path:
    values = {"num_steps": 6, "checkpoint_every": 2, "validate_every": 3, "validate_batches": 1}
    write_job(directory, **(values | changes))
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    return directory


def test_a_run_follows_its_counts(base_run: Path, changed_run: Path) -> None:
    base, changed = ranks.log(base_run), ranks.log(changed_run)
    assert [max(ranks.metrics(each)) for each in (base_run, changed_run)] == [6, 8]
    assert [each.count(" Loss: ") for each in (base, changed)] == [6, 4]
    assert [each.count("Validation loss") for each in (base, changed)] == [2, 2]
    assert {path.name for path in changed_run.glob("checkpoints/step-*")} >= {
        "step-00000006",
        "step-00000008",
    }
    tokens = [ranks.metrics(each)[1]["tokens"] for each in (base_run, changed_run)]
    assert tokens == [2 * 2 * 32, 2 * 1 * 32]


def test_epochs_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(32, 127)) * 30)
    once, twice = (
        run_with(tmp_path / str(n), num_epochs=n, num_steps=1000, dataset=str(tmp_path / "text"))
        for n in (1, 2)
    )
    assert 0 < 2 * max(ranks.metrics(once)) == max(ranks.metrics(twice)) < 100


def random_states_differ(checkpoint: Path) -> bool:
    import torch
    from torch.distributed.checkpoint import state_dict_loader

    from training import rng
    from training.checkpoint.state import rng_key

    state: dict[str, Any] = {rng_key(rank): rng.capture(torch.device("cpu")) for rank in (0, 1)}
    state_dict_loader.load(state, checkpoint_id=checkpoint, no_dist=True)
    return not torch.equal(*(state[rng_key(rank)]["torch"] for rank in (0, 1)))


def test_ranks_drop_the_same_elements_only_when_asked_to(base_run: Path, changed_run: Path) -> None:
    assert ranks.call(random_states_differ, base_run / "checkpoints/step-00000006")
    assert not ranks.call(random_states_differ, changed_run / "checkpoints/step-00000006")
