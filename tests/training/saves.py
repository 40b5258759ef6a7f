"""Ranks that train a tiny model for a few steps with checkpoints, and no loop around them.

Every step uses the same twelve rows, shared out over the ranks, so that any number of ranks that divides
twelve computes the same. A fault, or a guarantee taken away for a negative control, is a function below.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.training import ranks

ROWS = 12
SMALL = {"num_hidden_layers": 1, "activation_checkpointing": False}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What the ranks do. `nodes` gives the local directory of each rank, `roots` its checkpoint directory."""

    directory: Path
    steps: int = 6
    change: str = ""
    nodes: tuple[Path, ...] = ()
    roots: tuple[Path, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    joins: int = 0
    """A process whose mounts the ranks see."""


@dataclass
class Result:
    """What a rank saw: the loss of each step, the steps it saved, its log; `error` where it failed."""

    losses: dict[int, float] = field(default_factory=dict)
    saves: list[int] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    loaded: str = ""
    optimizer: list[tuple[float, tuple[float, float]]] = field(default_factory=list)
    """Weight decay and betas of each group of parameters at the end."""
    finished: int | None = None
    error: str = ""

    @property
    def text(self) -> str:
        """The log."""
        return "\n".join(self.log)


def train(run: Run, world: int) -> list[Result | None]:
    """The results by rank; None for a rank that was killed."""
    port = ranks._free_port()
    pipes = [ranks._CONTEXT.Pipe(duplex=False) for _ in range(world)]
    processes = [
        ranks._CONTEXT.Process(target=_rank, args=(sender, rank, world, port, run))
        for rank, (_, sender) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for _, sender in pipes:
        sender.close()
    try:
        return [_answer(receiver) for receiver, _ in pipes]
    finally:
        for process in processes:
            process.kill()
            process.join()


def good(run: Run, world: int) -> Result:
    """The result of the first rank, after all have ended well."""
    results = train(run, world)
    for result in results:
        assert result is not None and not result.error, result
    assert results[0]
    return results[0]


def _answer(receiver: Any) -> Result | None:
    assert receiver.poll(ranks.DEADLINE_SECONDS), "a rank did not answer"
    try:
        result: Result = receiver.recv()
    except EOFError:
        return None
    return result


def _rank(sender: Any, rank: int, world: int, port: int, run: Run) -> None:
    import traceback

    import torch.distributed as dist

    os.environ |= {"GLOO_SOCKET_IFNAME": "lo"}
    if run.nodes:
        os.environ["LOCAL_WORLD_SIZE"] = str(run.nodes.count(run.nodes[rank]))
    result = Result()
    try:
        address = f"tcp://127.0.0.1:{port}"
        dist.init_process_group(
            "gloo", init_method=address, rank=rank, world_size=world, timeout=timedelta(seconds=30)
        )
        if run.joins:
            _join(run.joins)
        if run.change:
            globals()[run.change](rank)
        _train(run, rank, result)
        dist.barrier()
    except BaseException as error:
        result.error = str(error) if type(error).__name__ == "CheckpointError" else traceback.format_exc()
    sender.send(result)
    os._exit(0)


def _train(run: Run, rank: int, result: Result) -> None:
    import torch
    import torch.distributed as dist

    from tests.training.model.parts import CPU, loss_of, sharded
    from training import rng
    from training.checkpoint.manifest import Position
    from training.checkpoint.saving import Checkpoints
    from training.optim import adamw

    config = _config(run, rank)
    checkpoints = Checkpoints(config, run.directory, {"hidden_size": 1}, result.log.append)
    model = sharded(config)
    optimizer = adamw(model, config)
    loaded = checkpoints.load_newest(model, optimizer, CPU)
    checkpoint, random_state = loaded or (None, None)
    position = checkpoint.content.position if checkpoint else Position()
    result.loaded = checkpoint.path.as_posix() if checkpoint else ""
    torch.manual_seed(7 + rank)
    if random_state:
        rng.restore(random_state, CPU)
    generator = torch.Generator().manual_seed(1)
    rows = torch.randint(0, 256, (ROWS, config.context_length), generator=generator)
    while position.step < run.steps:
        loss = loss_of(model, rows[rank :: dist.get_world_size()])
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type here
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean = loss.detach().double()
        dist.all_reduce(mean)
        position = Position(position.step + 1, position.tokens + 1, position.samples + ROWS)
        result.losses[position.step] = mean.item() / dist.get_world_size()
        checkpoints.poll()
        if checkpoints.due(position.step):
            result.saves.append(position.step)
            checkpoints.save(model, optimizer, position, CPU)
    done = checkpoints.finish()
    result.finished = done.content.step if done else None
    result.optimizer = [(group["weight_decay"], group["betas"]) for group in optimizer.param_groups]


def _config(run: Run, rank: int) -> Any:
    from tests.training.model.parts import job

    settings: dict[str, Any] = {**SMALL, "checkpoint_every": 2, "learning_rate": 0.01, **run.settings}
    if run.nodes:
        settings["local_directory"] = str(run.nodes[rank])
    if run.roots:
        settings["checkpoint_directory"] = str(run.roots[rank])
    return job(**settings)


def _join(process: int) -> None:
    """See the mounts of a process from here on, in this thread and those it starts."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/proc/{process}/ns/mnt").open() as namespace:
        own_working_directory, mounts = 0x200, 0x20000
        assert libc.unshare(own_working_directory) == 0, os.strerror(ctypes.get_errno())
        assert libc.setns(namespace.fileno(), mounts) == 0, os.strerror(ctypes.get_errno())


# What is changed inside a rank: faults


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _put(owner: Any, name: str, function: Callable[..., Any]) -> None:
    """Something else in the place of a function."""
    setattr(owner, name, function)


def _before(owner: Any, name: str, wanted: Callable[..., bool]) -> None:
    """Kill this rank when a function is called for what is wanted."""
    original = getattr(owner, name)

    def replaced(*arguments: Any, **named: Any) -> Any:
        if wanted(*arguments, **named):
            _kill()
        return original(*arguments, **named)

    _put(owner, name, replaced)


def _counted(number: int) -> Callable[..., bool]:
    calls = []

    def wanted(*_arguments: Any, **_named: Any) -> bool:
        calls.append(1)
        return len(calls) == number

    return wanted


def killed_staging(rank: int) -> None:
    """Rank 1, while the state of the second save is copied aside."""
    if rank == 1:
        from torch.distributed.checkpoint.staging import DefaultStager

        _before(DefaultStager, "stage", _counted(2))


def killed_writing(rank: int) -> None:
    """Rank 1, with a part of its file of step 4 written."""
    if rank == 1:
        from torch.distributed.checkpoint import filesystem

        parts = _counted(5)
        _before(
            filesystem, "_write_item", lambda _t, stream, *rest: "step-00000004" in stream.name and parts()
        )


def killed_hashing(rank: int) -> None:
    """Rank 1, when its file of step 4 is written and not yet hashed."""
    if rank == 1:
        from training.checkpoint import hashes

        _before(hashes, "entry", lambda path: "step-00000004" in str(path))


def killed_in_manifest(rank: int) -> None:
    """Rank 0, with half of the manifest of step 4 written."""
    from training.checkpoint import manifest
    from training.files import replace_text as original

    def replace_text(path: Path, text: str) -> None:
        if rank == 0 and "step-00000004" in str(path):
            path.write_text(text[: len(text) // 2])
            _kill()
        original(path, text)

    _put(manifest, "replace_text", replace_text)


def killed_before_rename(rank: int) -> None:
    """Rank 0, when the manifest of step 4 is complete and the directory has not its name."""
    if rank == 0:
        from training.checkpoint import manifest

        _before(manifest, "flush_directory", lambda path: path.name == ".writing-step-00000004")


def killed_after_rename(rank: int) -> None:
    """Rank 0, when the directory of step 4 has just got its name."""
    if rank == 0:
        from training.checkpoint import manifest

        flushes = _counted(2)
        _before(manifest, "flush_directory", lambda path: path.name == "checkpoints" and flushes())


def killed_pruning(rank: int) -> None:
    """Rank 0, with the oldest checkpoint half removed."""
    original = shutil.rmtree

    def rmtree(path: Path, *arguments: Any, **named: Any) -> None:
        if rank == 0 and path.name == ".removing-step-00000002" and path.exists():
            (path / ".metadata").unlink()
            _kill()
        original(path, *arguments, **named)

    _put(shutil, "rmtree", rmtree)


def killed_copying(rank: int) -> None:
    """Rank 1, with a part of its file of step 4 copied from the nodes to the shared directory."""
    if rank == 1:
        from training.checkpoint import transfer

        original = transfer.copy

        def copy(source: Path, target: Path, *rest: Any) -> None:
            if "step-00000004" in str(source):
                target.write_bytes(source.read_bytes()[:1000])
                _kill()
            original(source, target, *rest)

        _put(transfer, "copy", copy)


def never_copied(rank: int) -> None:
    """No checkpoint after step 2 is copied from the nodes, as when copying takes long; the end does not
    wait for it."""
    from training.checkpoint.copying import Copier

    original = Copier.start
    _put(Copier, "start", lambda self, found: original(self, found) if found.content.step == 2 else None)
    _put(Copier, "finish", lambda self, newest: None)


def slow_copying(rank: int) -> None:
    """Copying a file takes until more steps are saved."""
    from training.checkpoint import transfer

    original = transfer.copy

    def copy(*arguments: Any) -> None:
        time.sleep(0.5)
        original(*arguments)

    _put(transfer, "copy", copy)


def no_room_to_copy(rank: int) -> None:
    """The shared directory is full for rank 1."""
    from training.checkpoint import transfer

    def copy(source: Path, target: Path, *_rest: Any) -> None:
        raise OSError(28, "No space left on device", str(target))

    if rank == 1:
        _put(transfer, "copy", copy)


def no_room_in_second_save(rank: int) -> None:
    """Rank 1 may not write its file of step 4: the limit on the size of a file stands for a full disk."""
    _limited(rank, lambda path: "step-00000004" in path)


def no_room_after_first_save(rank: int) -> None:
    """Rank 1 may write its file of step 2 and none after it."""
    _limited(rank, lambda path: "step-00000002" not in path)


def _limited(rank: int, full: Callable[[str], bool]) -> None:
    import resource

    from torch.distributed.checkpoint import filesystem

    original = filesystem._write_item

    def write_item(transforms: Any, stream: Any, *rest: Any) -> Any:
        limit = 10_000 if rank == 1 and full(stream.name) else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            return original(transforms, stream, *rest)
        finally:
            stream.flush()

    _put(filesystem, "_write_item", write_item)


def small_disk(rank: int) -> None:
    """Room for one checkpoint, and none from the second save on."""
    from training.checkpoint import space

    asked = []

    def free(_root: Path) -> int:
        asked.append(1)
        return 10**12 if len(asked) <= 2 else 5_000

    _put(space, "free", free)


def blind_to_room(rank: int) -> None:
    """There seems to be room, and the disk is full in the middle of a save."""
    from training.checkpoint import space

    _put(space, "free", lambda root: 10**12)


def tiny_disk(rank: int) -> None:
    """Room for less than the checkpoints that are to be kept."""
    from training.checkpoint import space

    _put(space, "free", lambda root: 2_000_000)


def counting(rank: int) -> None:
    """Note how many checkpoints there are when the newest one has just been written."""
    from training.checkpoint import retention

    original = retention.prune

    def prune(root: Path, *rest: Any) -> Any:
        with (root.parent / "counted").open("a") as file:
            file.write(f"{len(retention.committed(root))}\n")
        return original(root, *rest)

    _put(retention, "prune", prune)


def stubborn_files(rank: int) -> None:
    """Old checkpoints cannot be removed."""
    from training.checkpoint import retention

    def remove(directory: Path) -> None:
        raise PermissionError(f"{directory.name} is held")

    _put(retention, "remove", remove)


def trouble_that_matters(rank: int) -> None:
    """What hinders pruning hinders the save."""
    from training.checkpoint.tier import Tier

    def prune(self: Tier, spared: set[int]) -> None:
        raise PermissionError("step-00000002 is held")

    _put(Tier, "prune", prune)


# Guarantees taken away, for negative controls


def without_moments(rank: int) -> None:
    """The optimizer forgets what was loaded into it."""
    from training.checkpoint import state

    original = state.put_back

    def put_back(model: Any, optimizer: Any, loaded: dict[str, Any]) -> None:
        original(model, optimizer, loaded)
        optimizer.state.clear()

    _put(state, "put_back", put_back)


def without_own_name(rank: int) -> None:
    """A checkpoint has its name and a manifest before its files are written; rank 1 is killed in between."""
    from training.checkpoint import manifest, retention
    from training.checkpoint.tier import Tier

    def start_writing(root: Path, step: int) -> Path:
        final = root / retention.directory_name(step)
        final.mkdir(parents=True)
        content = manifest.Manifest(step=step, tokens=0, samples=0, world=2, settings=settings, files={})
        (final / manifest.NAME).write_text(manifest.sealed(dataclasses.asdict(content)))
        return final

    from tests.training.model.parts import job

    settings = job(**SMALL, learning_rate=0.01).shared()
    _put(Tier, "abandon", lambda self, step: None)
    _put(manifest, "start_writing", start_writing)
    _put(manifest, "unfinished", lambda root, step: root / retention.directory_name(step))
    killed_writing(rank)


def trusting_index(rank: int) -> None:
    """The library reads its index itself."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader

    from training.checkpoint.index import DataOnlyReader

    _put(DataOnlyReader, "read_metadata", FileSystemReader.read_metadata)


def index_of_another_torch(rank: int) -> None:
    """The library's index is made of something that this release does not know."""
    from training.checkpoint import index

    index._DATA["torch"].remove("Size")


def shared_state(rank: int) -> None:
    """The state is not copied aside: it is written as it is by then."""
    from torch.distributed.checkpoint.staging import DefaultStager

    _put(DefaultStager, "stage", lambda self, state: state)
    slow_writing(rank)


def failure_that_matters(rank: int) -> None:
    """The second save finds no room, and that ends the run."""
    from training.checkpoint.background import Done, Save
    from training.checkpoint.saving import Checkpoints

    no_room_in_second_save(rank)
    original = Checkpoints._take

    def take(self: Checkpoints, save: Save) -> None:
        original(self, save)
        if not isinstance(save.result, Done):
            raise RuntimeError("no checkpoint, no training")

    _put(Checkpoints, "_take", take)


def nothing_given_back(rank: int) -> None:
    """The second save finds no room, and what it wrote stays."""
    from training.checkpoint.tier import Tier

    no_room_in_second_save(rank)
    _put(Tier, "abandon", lambda self, step: None)


def tiny_disk_unasked(rank: int) -> None:
    """Nobody asks for room before the first step."""
    from training.checkpoint.tier import Tier

    tiny_disk(rank)
    _put(Tier, "demand_space_ahead", lambda self, size, last_step: None)


def small_disk_unasked(rank: int) -> None:
    """Nobody asks for room before a save."""
    from training.checkpoint.background import Save

    small_disk(rank)
    original = Save._save

    def save(self: Save) -> Any:
        _put(self._tier, "demand_space", lambda size, what: None)
        return original(self)

    _put(Save, "_save", save)


def unseen_directories(rank: int) -> None:
    """Nobody looks whether all ranks see the same directory."""
    from training.checkpoint.group import Ranks

    def beside(self: Ranks, directory: Path) -> list[int]:
        directory.mkdir(exist_ok=True)
        return list(range(self.world))

    _put(Ranks, "beside", beside)


def asked_each_time(rank: int) -> None:
    """Every start goes on from the checkpoint that is asked for."""
    from training.checkpoint.loading import Asked

    _put(Asked, "is_new", lambda self: True)


def later_ones_stay(rank: int) -> None:
    """Going back leaves the later checkpoints where they are."""
    from training.checkpoint import retention

    _put(retention, "set_aside", lambda directory, reason: directory)


def missing_is_nothing(rank: int) -> None:
    """A checkpoint that is asked for and is not there is passed over."""
    from training.checkpoint.loading import Asked

    _put(Asked, "is_new", lambda self: self._path.is_dir())


def noting_rates(rank: int) -> None:
    """Note how fast each file may be copied."""
    from training.checkpoint import transfer

    original = transfer.copy

    def copy(source: Path, target: Path, expected: Any, bytes_per_second: float | None) -> None:
        with (target.parent.parent.parent / "rates").open("a") as file:
            file.write(f"{bytes_per_second}\n")
        original(source, target, expected, None)

    _put(transfer, "copy", copy)


def slow_writing(rank: int) -> None:
    """Writing waits until another step is done."""
    import threading

    from training.checkpoint.background import Save
    from training.checkpoint.saving import Checkpoints

    stepped = threading.Event()
    write, poll = Save._save, Checkpoints.poll

    def save(self: Save) -> Any:
        assert stepped.wait(ranks.DEADLINE_SECONDS)
        return write(self)

    def noting(self: Checkpoints) -> Any:
        if self._save is not None:
            stepped.set()
        return poll(self)

    _put(Save, "_save", save)
    _put(Checkpoints, "poll", noting)


def half_is_enough(rank: int) -> None:
    """A step counts though files of it went with a node."""
    from training.checkpoint.tier import Tier

    _put(Tier, "_whole", lambda self, path, content: True)
    _put(Tier, "_lost", lambda self, path, content: [])


def without_fetching(rank: int) -> None:
    """What another node has stays there."""
    from training.checkpoint.pieces import ScatteredReader

    _put(ScatteredReader, "_fetch", lambda self, missing: None)
