"""Loading a checkpoint whose files lie on several nodes: what a rank needs of another's file comes over gloo.

With the same ranks in the same places that is little: values that are alike on all ranks are in one file
only. With replicas of shards, or ranks in other places, it is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from torch.futures import Future

from training.checkpoint.group import Ranks
from training.checkpoint.index import METADATA, DataOnlyReader


@dataclass(frozen=True, order=True)
class Piece:
    """A part of a file: `length` bytes from `offset` on."""

    name: str
    offset: int
    length: int


class ScatteredReader(DataOnlyReader):
    """Reads from a directory of links to the files that are on this node; it gets the rest from other ranks.

    Every rank makes one and loads with it, at the same time. `view` is an empty directory of this rank.
    """

    def __init__(self, files: Path, view: Path, sizes: dict[str, int], ranks: Ranks) -> None:
        super().__init__(view)
        self._view, self._ranks = view, ranks
        for name in sizes:
            if (files / name).exists():
                (view / name).symlink_to(files / name)
        self._owners = _owners(ranks.gather([name for name in sizes if (view / name).exists()]))
        missing = [] if (view / METADATA).exists() else [Piece(METADATA, 0, sizes[METADATA])]
        self._fetch(missing)

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """As the library's, once what is missing has been fetched."""
        places = [self.storage_data[item.storage_index] for item in plan.items]
        pieces = {Piece(each.relative_path, each.offset, each.length) for each in places}
        self._fetch(sorted(each for each in pieces if not (self._view / each.name).is_symlink()))
        return super().read_data(plan, planner)

    def _fetch(self, missing: list[Piece]) -> None:
        """All ranks go through all requests in one order, so that each transfer meets its other end."""
        for asker, pieces in enumerate(self._ranks.gather(missing)):
            for piece in pieces:
                if self._owners[piece.name] == self._ranks.rank:
                    self._send(piece, asker)
                elif asker == self._ranks.rank:
                    self._receive(piece)

    def _send(self, piece: Piece, asker: int) -> None:
        with (self._view / piece.name).open("rb") as file:
            file.seek(piece.offset)
            content = bytearray(file.read(piece.length))
        dist.send(torch.frombuffer(content, dtype=torch.uint8), asker, group=self._ranks.group)

    def _receive(self, piece: Piece) -> None:
        """The file here has holes where nothing is needed."""
        content = torch.empty(piece.length, dtype=torch.uint8)
        dist.recv(content, self._owners[piece.name], group=self._ranks.group)
        path = self._view / piece.name
        path.touch()
        with path.open("r+b") as file:
            file.seek(piece.offset)
            file.write(content.numpy().data)


def _owners(names: list[list[str]]) -> dict[str, int]:
    """The lowest rank that has each file."""
    found: dict[str, int] = {}
    for rank, there in enumerate(names):
        for name in there:
            found.setdefault(name, rank)
    return found
