"""Offloading and recomputing: what is kept, where, and that the numbers stay the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training import ranks

NUM_LAYERS = 6


def offloaded(horizon: int, recompute: bool) -> dict[str, Any]:
    """A stack of layers whose saved tensors are moved: gradients, and the layers back at each moment."""
    import torch
    from torch import nn

    from tests.training.model.parts import layers_back
    from training.model.memory import OffloadedLayers, recomputing

    def stack(wrapped: bool) -> tuple[list[Any], list[list[int]]]:
        torch.manual_seed(1)
        moves = OffloadedLayers(horizon)
        seen: list[list[int]] = []
        layers: list[Any] = [
            nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.3)) for _ in range(NUM_LAYERS)
        ]
        for number, layer in enumerate(layers):
            if recompute:
                layer.forward = recomputing(layer.forward, selective=False)
            if wrapped:
                layer.forward = moves.wrap(number, layer.forward)
            layer[0].weight.register_hook(lambda _: seen.append(layers_back(moves)))
        values: Any = torch.ones(4, 8, requires_grad=True)
        for layer in layers:
            values = layer(values)
        assert layers_back(moves) == []
        values.sum().backward()
        return [layer[0].weight.grad for layer in layers], seen

    plain, moved = stack(False), stack(True)
    return {
        "equal": all(torch.equal(one, two) for one, two in zip(plain[0], moved[0], strict=True)),
        "seen": moved[1],
    }


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("horizon", [1, 2, 4])
def test_offloading_changes_no_gradient_and_keeps_to_its_horizon(horizon: int, recompute: bool) -> None:
    found = ranks.call(offloaded, horizon, recompute)
    assert found["equal"]
    assert len(found["seen"]) == NUM_LAYERS
    for at_work, back in zip(reversed(range(NUM_LAYERS)), found["seen"], strict=True):
        assert back == [n for n in range(NUM_LAYERS) if at_work - horizon < n <= at_work]


def order_of_copies() -> list[str]:
    """What the streams of a GPU are told while three layers take back what they saved, two at a time."""
    import contextlib

    import torch

    from training.model import memory

    said: list[str] = []

    class Saved:
        """A tensor, and the event of its copy."""

        def __init__(self, layer: int) -> None:
            self.layer = layer

        def to(self, *_where: Any, **_how: Any) -> Saved:
            said.append(f"copy {self.layer}")
            return self

        def record_stream(self, _stream: Any) -> None:
            pass

    class Event:
        def record(self) -> None:
            self.after = said[-1].removeprefix("copy ")

    class Stream:
        def wait_event(self, event: Any) -> None:
            said.append(f"wait for {event.after}")

        def wait_stream(self, _stream: Any) -> None:
            said.append("wait for all")

    cuda: Any = torch.cuda
    cuda.Event, cuda.current_stream, cuda.stream = Event, Stream, contextlib.nullcontext
    memory._copies = lambda: None  # type: ignore[assignment]
    saved: list[Any] = [memory._Moved(Saved(n), torch.device("cuda")) for n in range(3)]  # type: ignore[arg-type]
    moves = memory.OffloadedLayers(2, {n: [each] for n, each in enumerate(saved)})
    for layer in (2, 1, 0):
        moves._unpack(layer, saved[layer])
    return said


def test_a_layer_waits_for_its_own_copy_only() -> None:
    assert ranks.call(order_of_copies) == [
        *("copy 2", "copy 1", "wait for 2"),
        *("copy 0", "wait for 1"),
        "wait for 0",
    ]


def counted(way: Any) -> dict[str, int]:
    """How often matrix products and the MLP's function run in one step of a two-layer model."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from tests.training.model.parts import job, loss_of, tokens
    from training.model.build import build
    from training.model.presets import PRESETS
    from training.model.shard import _wrap_layers
    from training.model.values import allocate, initialise

    class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types here
        found: dict[str, int] = {}  # noqa: RUF012  # of this one class, made anew each time

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = function.overloadpacket.__name__
            self.found[name] = self.found.get(name, 0) + 1
            return function(*args, **(kwargs or {}))

    cpu, shape = torch.device("cpu"), PRESETS["tiny"].shape
    model = build(shape)
    allocate(model, cpu, cpu)
    initialise(model, shape, 1)
    config = job(activation_checkpointing=way)
    _wrap_layers(model, config, "cpu")
    mode: Any = Counting()  # type: ignore[no-untyped-call]  # nor here
    with mode:
        loss: Any = loss_of(model.eval(), tokens(config, 0))
        loss.backward()
    return {name: mode.found.get(name, 0) for name in ("mm", "silu")}


def test_what_is_computed_again_follows_the_setting() -> None:
    kept, full, selective = (ranks.call(counted, way) for way in (False, True, "selective"))
    assert full["silu"] == selective["silu"] == 2 * kept["silu"] == 4
    assert selective["mm"] == kept["mm"] < full["mm"]


def moved_by_job(values: dict[str, Any]) -> tuple[int, bool]:
    """Saved tensors that a job's layers move, and whether the gradients stay the same; on a CPU, which is
    told to be a device with memory of its own."""
    import torch

    from tests.training.model.parts import CPU, job, loss_of, tokens
    from training.model import memory
    from training.model.build import build
    from training.model.presets import PRESETS
    from training.model.shard import _wrap_layers
    from training.model.values import allocate, initialise

    shape, config, gradients = PRESETS["tiny"].shape, job(**values), []
    moves: list[int] = []
    to_host = memory._to_host
    memory._to_host = lambda tensor: moves.append(tensor.numel()) or to_host(tensor)  # type: ignore[func-returns-value]
    for device in ("cpu", "cuda"):
        model: Any = build(shape)
        allocate(model, CPU, CPU)
        initialise(model, shape, 1)
        _wrap_layers(model, config, device)
        loss: Any = loss_of(model.eval(), tokens(config, 0))
        loss.backward()
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
    return len(moves), torch.equal(*gradients)


def test_a_job_offloads_when_it_says_so() -> None:
    full, all_kept, none = (
        ranks.call(moved_by_job, values)
        for values in (
            {},
            {"activation_checkpointing": False},
            {"activation_offloading": False},
        )
    )
    assert full == (2, True), "the input of each of two layers"
    assert all_kept[0] > 10 and all_kept[1]
    assert none == (0, True)
