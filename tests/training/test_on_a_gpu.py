"""What a rank asks of torch where there is a GPU, seen on stand-ins: nothing here runs on one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from tests.training.model.world import together


def asked_of_torch(environment: dict[str, str]) -> dict[str, Any]:
    """The device of local rank 3, how it meets the others, and the allocator's settings."""
    import os

    import torch
    import torch.distributed as dist

    from training import loop, pretrain
    from training.config import JobConfig

    asked: dict[str, Any] = {}

    class Trainer:
        def __init__(self, _config: Any, device: Any, _attempt: Any) -> None:
            asked["trains on"] = str(device)

        def run(self) -> str:
            return "done"

    os.environ |= {"LOCAL_RANK": "3", **environment}
    cuda: Any = torch.cuda
    cuda.is_available, cuda.set_device = lambda: True, lambda device: asked.update(current=str(device))
    group: Any = dist
    group.init_process_group = lambda kinds, **how: asked.update(kinds=kinds, bound=str(how["device_id"]))
    group.barrier = group.destroy_process_group = lambda: None
    setattr(loop, "Trainer", Trainer)  # noqa: B010  # a fake in its place
    attempt: Any = None
    pretrain._train(JobConfig(), attempt)
    return {**asked, "allocator": os.environ.get("PYTORCH_ALLOC_CONF")}


def test_a_rank_is_bound_to_its_own_gpu() -> None:
    device = "cuda:3"
    assert ranks.call(asked_of_torch, {}) == {
        "trains on": device,
        "current": device,
        "bound": device,
        "kinds": "cpu:gloo,cuda:nccl",
        "allocator": "expandable_segments:True",
    }


@pytest.mark.parametrize("name", ["PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"])
def test_the_allocators_settings_are_the_users_where_there_are_any(name: str) -> None:
    found = ranks.call(asked_of_torch, {name: "max_split_size_mb:128"})
    assert found["allocator"] == ("max_split_size_mb:128" if name == "PYTORCH_ALLOC_CONF" else None)


def pinned(positions: Any) -> int:
    """How many tensors are pinned on their way to a GPU, of those that a batch needs."""
    import torch

    from training.model.documents import keep_apart

    ways: list[str] = []
    tensor: Any = torch.Tensor

    def noting(way: str) -> Any:
        def run(self: Any, *_where: Any, **how: Any) -> Any:
            ways.append(f"{way} {how}")
            return self

        return run

    tensor.pin_memory, tensor.to = noting("pinned"), noting("copied")
    keep_apart(positions, torch.device("cuda"), flash=True, compiled=False)
    assert ways.count("copied {'non_blocking': True}") == ways.count("pinned {}")
    return ways.count("pinned {}")


def test_nothing_is_copied_from_memory_that_must_be_waited_for() -> None:
    import numpy as np

    assert ranks.call(pinned, np.array([[0, 1, 0, 1, 2]])) == 2


def timeouts(sharding: str) -> list[float]:
    """The time-out of every group of the mesh once the first step is done."""
    from types import SimpleNamespace

    import torch.distributed as dist

    from tests.training.model.parts import CPU, job, sharded
    from training import loop
    from training.model.shard import groups

    config = job(sharding=sharding, step_timeout_seconds=77)
    stepper = SimpleNamespace(model=sharded(config, ranks_per_node=1))
    trainer: Any = SimpleNamespace(config=config, stepper=stepper)
    loop.Trainer._shorten_timeouts(trainer)
    everywhere: list[Any] = [dist.group.WORLD, *groups(stepper.model)]
    return [each._get_backend(CPU).options._timeout.total_seconds() for each in everywhere]


@pytest.mark.parametrize(("sharding", "count"), [("full", 2), ("hybrid", 3)])
def test_after_the_first_step_no_group_waits_longer(sharding: str, count: int) -> None:
    assert together(timeouts, 2, sharding) == [[77.0] * count] * 2


def hooks_of_the_timer(compare_every: int, directory: Path) -> int:
    """Hooks after the forward passes of all layers; FSDP has some too."""
    from types import SimpleNamespace

    from tests.training.model.parts import CPU, job
    from training import loop
    from training.model.shape import choose

    config = job(compare_every=compare_every)
    said: list[str] = []
    trainer: Any = SimpleNamespace(
        config=config, chosen=choose(config, directory), device=CPU, world=1, log=said.append
    )
    loop.Trainer.make(trainer)
    return sum(len(layer._forward_hooks) for layer in trainer.stepper.model.model.layers)


def test_what_is_not_compared_is_not_timed(tmp_path: Path) -> None:
    """On a GPU its events would be kept for ever."""
    timed, untimed = (together(hooks_of_the_timer, 1, every, tmp_path)[0] for every in (20, 0))
    assert timed - untimed == 2, "one a layer"
