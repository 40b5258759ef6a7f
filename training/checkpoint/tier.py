"""A place for checkpoints, as all ranks see it together: one directory shared by all, or one on each node.

Every method is a collective. Of the ranks that see the same directory the lowest does what is done once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from training.checkpoint import hashes, manifest, retention, space
from training.checkpoint.group import Ranks
from training.checkpoint.index import METADATA, DataOnlyReader
from training.checkpoint.manifest import Checkpoint, FileEntry, Manifest
from training.checkpoint.pieces import ScatteredReader
from training.checkpoint.retention import Kept

T = TypeVar("T")


class Tier:
    """One place. `beside` are the ranks that see the same directory as this one."""

    def __init__(
        self, root: Path, kept: Kept, ranks: Ranks, beside: list[int], log: Callable[[str], None]
    ) -> None:
        self.root, self.kept, self._ranks, self._log = root, kept, ranks, log
        self._beside = beside
        self._leads = ranks.rank == beside[0]
        self.shared = len(beside) == ranks.world
        self.verified: int | None = None
        """Step of the checkpoint that this run was loaded from: the last one known to be good."""

    def demand_space(self, size: int, what: str, count: int = 1) -> None:
        """Raise CheckpointError on every rank where `count` checkpoints of `size` bytes, all ranks' files
        counted, do not fit beside those that are there."""
        here = size * len(self._beside) // self._ranks.world
        self._lead(lambda: space.demand(self.root, here, count, what))

    def demand_space_ahead(self, size: int, last_step: int) -> None:
        """The same for as many as there will be at once up to a step. Alike for every attempt: what let one
        start must let a later one start too."""
        there = min(self._ranks.gather(len(retention.committed(self.root))))
        count = max(1, self.kept.at_once(last_step) - there)
        self.demand_space(size, f"{count} checkpoint{'s' if count > 1 else ''} more", count)

    def begin(self, step: int) -> Path:
        """An empty directory for the files of a checkpoint."""
        self._lead(lambda: manifest.start_writing(self.root, step))
        return manifest.unfinished(self.root, step)

    def commit(self, content: Manifest) -> Path:
        """Give the directory its name. The rank that wrote the library's own index has it copied to all."""
        aside = manifest.unfinished(self.root, content.step)
        index = None if self.shared else self._ranks.first(lambda: (aside / METADATA).read_bytes())

        def commit() -> None:
            if index is not None and not (aside / METADATA).exists():
                (aside / METADATA).write_bytes(index)
            manifest.commit(aside, content)

        self._lead(commit)
        return self.root / retention.directory_name(content.step)

    def holds(self, content: Manifest) -> bool:
        """Whether this very checkpoint is here already. Not a collective."""
        try:
            return manifest.read(self.root / retention.directory_name(content.step)).files == content.files
        except ValueError:
            return False

    def abandon(self, step: int) -> None:
        """Give back the room that a failed save took. Not a collective."""
        if self._leads:
            shutil.rmtree(manifest.unfinished(self.root, step), ignore_errors=True)

    def prune(self, spared: set[int]) -> None:
        """Remove what need not stay. Not a collective, and trouble with it ends nothing."""
        if self._leads:
            spared = spared | ({self.verified} if self.verified is not None else set())
            try:
                troubles = retention.prune(self.root, self.kept, spared)
            except OSError as error:
                troubles = [f"cannot be looked for: {error}"]
            for trouble in troubles:
                self._log(f"Old checkpoints in {self.root}: {trouble}")

    def clean(self) -> None:
        """Remove what killed saves left."""
        self._lead(lambda: retention.remove_unfinished(self.root))

    def drop_from(self, step: int) -> None:
        """Remove checkpoints of this step and later ones: parts of work that the run does not go on from."""

        def drop() -> None:
            for later, path in retention.committed(self.root).items():
                if later >= step:
                    retention.remove(path)

        self._lead(drop)

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint with a readable manifest whose files are on the nodes that are there."""
        found: dict[int, list[Manifest]] = {}
        for content in (content for part in self._lead(self._readable) for content in part or []):
            found.setdefault(content.step, []).append(content)
        for step in sorted(found, reverse=True):
            first, *others = found[step]
            path = retention.committed(self.root).get(step, self.root / retention.directory_name(step))
            if all(other == first for other in others) and self._whole(path, first):
                return Checkpoint(path, first)
        return None

    def faults(self, found: Checkpoint) -> list[str]:
        """What is wrong with the files, which are shared out over the ranks, since hashing takes time."""
        here = [name for name in sorted(found.content.files) if (found.path / name).exists()]
        mine = here[self._beside.index(self._ranks.rank) :: len(self._beside)]
        lost = self._lost(found.path, found.content)
        wrong = self._ranks.gather(hashes.faults(found.path, found.content, mine))
        return [*(f"{name} is missing" for name in lost), *(fault for part in wrong for fault in part)]

    def set_aside(self, found: Checkpoint, reason: str) -> None:
        """Move a bad checkpoint out of the way on every node."""
        self._lead(lambda: self._set_aside(found.path, reason) if found.path.exists() else None)

    def any_set_aside(self) -> bool:
        """Whether a bad checkpoint was found here before."""
        return any(self._ranks.everywhere(lambda: retention.any_set_aside(self.root)))

    def reader(self, found: Checkpoint) -> DataOnlyReader:
        """What the library loads the checkpoint with."""
        if self.shared:
            return DataOnlyReader(found.path)
        sizes = {name: each.size for name, each in found.content.files.items()}
        view = retention.view(self.root, self._ranks.rank)
        return ScatteredReader(found.path, view, sizes, self._ranks)

    def done_reading(self) -> None:
        """Remove what a reader put together."""
        shutil.rmtree(retention.view(self.root, self._ranks.rank), ignore_errors=True)

    def share(self, found: Checkpoint) -> dict[str, FileEntry]:
        """The files that this rank is to copy elsewhere: all ranks together have each file once."""
        here = [name for name in sorted(found.content.files) if (found.path / name).exists()]
        mine = here[self._beside.index(self._ranks.rank) :: len(self._beside)]
        owners = self._ranks.gather(mine)
        before = {name for part in owners[: self._ranks.rank] for name in part}
        return {name: found.content.files[name] for name in mine if name not in before}

    def _readable(self) -> list[Manifest]:
        found = []
        for step, path in retention.committed(self.root).items():
            try:
                content = manifest.read(path)
                if content.step != step:
                    raise ValueError(f"{manifest.NAME} is that of step {content.step}")
                found.append(content)
            except ValueError as error:
                self._set_aside(path, str(error))
        return found

    def _set_aside(self, path: Path, reason: str) -> None:
        target = retention.set_aside(path, reason)
        self._log(f"Checkpoint {path} is bad ({reason}); set aside as {target}")

    def _whole(self, path: Path, content: Manifest) -> bool:
        """On a shared directory a missing file is damage, found later; on nodes the node may be gone."""
        return self.shared or not self._lost(path, content)

    def _lost(self, path: Path, content: Manifest) -> list[str]:
        here = self._ranks.gather([name for name in content.files if (path / name).exists()])
        return sorted(set(content.files).difference(*here))

    def _lead(self, work: Callable[[], T]) -> list[T | None]:
        return self._ranks.everywhere(lambda: work() if self._leads else None)
