"""Several ranks that run one function of a test, without a training loop around it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.training import ranks


def together(function: Callable[..., Any], world: int, *arguments: Any) -> list[Any]:
    """What a function returned on each of `world` ranks of a gloo group. A rank's error ends the test."""
    port = ranks._free_port()
    pipes = [ranks._CONTEXT.Pipe(duplex=False) for _ in range(world)]
    processes = [
        ranks._CONTEXT.Process(target=_rank, args=(sender, rank, world, port, function, arguments))
        for rank, (_, sender) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for _, sender in pipes:
        sender.close()
    try:
        return [_answer(receiver, rank) for rank, (receiver, _) in enumerate(pipes)]
    finally:
        for process in processes:
            process.kill()
            process.join()


def _answer(receiver: Any, rank: int) -> Any:
    assert receiver.poll(ranks.DEADLINE_SECONDS), f"rank {rank} did not answer"
    kind, value = receiver.recv()
    assert kind == "done", f"rank {rank}: {value}"
    return value


def _rank(
    sender: Any, rank: int, world: int, port: int, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    import traceback

    import torch.distributed as dist

    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "LOCAL_RANK": str(rank)}
    try:
        address = f"tcp://127.0.0.1:{port}"
        dist.init_process_group(
            "gloo", init_method=address, rank=rank, world_size=world, timeout=timedelta(seconds=60)
        )
        result = ("done", function(*arguments))
        dist.barrier()
    except BaseException:
        result = ("failed", traceback.format_exc())
    sender.send(result)
    os._exit(0)
