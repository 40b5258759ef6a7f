"""Where the checkpoints of a run are: a directory all ranks share, and the nodes' own disks if asked for."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from training.checkpoint import retention
from training.checkpoint.copying import Copier
from training.checkpoint.group import Ranks
from training.checkpoint.manifest import CheckpointError
from training.checkpoint.tier import Tier
from training.config import JobConfig
from training.files import own_directory, replace_text

_COPY_TIMEOUT = timedelta(days=1)


def shared(config: JobConfig, directory: Path, ranks: Ranks, log: Callable[[str], None]) -> Tier:
    """The checkpoint directory. Raises CheckpointError when a rank does not see it."""
    root = directory / Path(config.checkpoint_directory).expanduser()
    beside = ranks.beside(root)
    blind = [rank for rank, seen in enumerate(ranks.gather(0 in beside)) if not seen]
    if blind:
        raise CheckpointError(
            f"checkpoint_directory: rank {blind[0]} does not see what rank 0 writes into "
            f"{ranks.gather(root)[0]}",
            "it must be on the shared file system; local_directory is for the nodes' own disks",
        )
    return Tier(root, retention.shared(config), ranks, beside, log)


def local(
    config: JobConfig, everyone: Tier, ranks: Ranks, log: Callable[[str], None]
) -> tuple[Tier, Copier] | None:
    """A directory of this run on each node, and what copies from there to everyone's.

    The run's name is kept in the shared directory: when that was cleared, the old run must not come back.
    """
    if config.local_directory is None:
        return None
    root = Path(config.local_directory) / ranks.first(functools.partial(_run_name, everyone.root))
    ranks.everywhere(functools.partial(own_directory, root))
    beside = ranks.beside(root)
    kept = retention.local(config)
    copying = Ranks(_COPY_TIMEOUT)
    source = Tier(root, kept, copying, beside, log)
    target = Tier(everyone.root, everyone.kept, copying, list(range(copying.world)), log)
    limit = config.local_copy_mb_per_s
    copier = Copier(source, target, copying, limit * 1e6 if limit else None, log)
    return Tier(root, kept, ranks, beside, log), copier


def _run_name(root: Path) -> str:
    path = root / "run-name"
    if not path.exists():
        replace_text(path, secrets.token_hex(8) + "\n")
    return path.read_text(encoding="utf-8").strip()
