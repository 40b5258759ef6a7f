"""AdamW pulls matrices and embeddings towards zero, and no scale of a norm; also after a resume."""

from __future__ import annotations

from tests.training.model.world import together


def after_a_step_without_gradient(resumed: bool) -> dict[str, list[str]]:
    """Names of the parameters that a step of zero gradients makes smaller, and of those it leaves alone."""
    import torch

    from tests.training.model.parts import CPU, job, sharded, whole
    from training.checkpoint import state
    from training.optim import adamw

    config = job(weight_decay=0.5, learning_rate=0.1)
    model = sharded(config)
    optimizer = adamw(model, config)
    if resumed:
        state.put_back(model, optimizer, state.capture(model, optimizer, CPU, None))
    before = {name: whole(each).detach().clone() for name, each in model.named_parameters()}
    for each in model.parameters():
        each.grad = torch.zeros_like(each)
    optimizer.step()
    found: dict[str, list[str]] = {"smaller": [], "alone": []}
    for name, each in model.named_parameters():
        shrunk = torch.allclose(whole(each), before[name] * (1 - 0.1 * 0.5))
        found["smaller" if shrunk else "alone"].append(name)
        assert shrunk or torch.equal(whole(each), before[name])
    return found


def test_norms_are_not_pulled_towards_zero() -> None:
    for resumed in (False, True):
        (found,) = together(after_a_step_without_gradient, 1, resumed)
        assert {name.split(".")[-2] for name in found["alone"]} == {
            "norm",
            "input_layernorm",
            "post_attention_layernorm",
        }
        assert {"lm_head.weight", "model.embed_tokens.weight"} < set(found["smaller"])
