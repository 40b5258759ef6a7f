"""Rehearsals that were left up on purpose: which there are, their nodes, and commands on them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse import places, sweep
from unbroken.ops.rehearse.cluster import Cluster, Node
from unbroken.ops.rehearse.sweep import cleaners
from unbroken.ops.target import Target, on_embedded
from unbroken.rehearsal.aws.process import ServerInfo


@dataclass(frozen=True)
class Kept:
    """A rehearsal that is up."""

    id: str
    state: Path
    server_pid: int
    cluster_name: str
    region: str
    controller_group: str
    out: Path
    cluster_file: Path
    has_nodes: bool = True
    """Whether its nodes run, and are not on paper as in a reduced rehearsal."""

    @property
    def cluster(self) -> Cluster:
        """Its nodes."""
        return Cluster(self.state, self.server_pid, self.controller_group)

    @property
    def target(self) -> Target:
        """Its embedded AWS."""
        info = ServerInfo.read(self.state)
        nodes = self.cluster if self.has_nodes else None
        return on_embedded(info.port if info else 0, self.region, nodes)


def find(identity: str | None = None, base: Path | None = None) -> Kept:
    """The rehearsal of that id, else the newest that is up. CannotRun if there is none."""
    up = sweep.kept(base or places.base_folder())
    chosen = [found for found in up if identity in (None, found.id)]
    if not chosen:
        raise CannotRun(
            f"no rehearsal '{identity}' is up" if identity else "no rehearsal is up",
            f"those up are: {', '.join(f.id for f in up)}" if up else "start one: unbroken rehearse --keep",
        )
    found = chosen[-1]
    pid = sweep.server_pid(found.state)
    if pid is None:
        raise CannotRun(f"the rehearsal {found.id} has ended", "start one: unbroken rehearse --keep")
    record = json.loads((found.state / places.KEPT_RECORD).read_text())
    return Kept(
        found.id,
        found.state,
        pid,
        record["cluster"],
        record["region"],
        record["controller_group"],
        Path(record["out"]),
        Path(record["cluster_file"]),
        record.get("nodes", True),
    )


def remove_dead(base: Path | None = None) -> list[str]:
    """Remove what rehearsals left whose process was killed; their ids."""
    return sweep.sweep(base or places.base_folder(), cleaners(os.geteuid() == 0))


def ids_up() -> list[str]:
    """The rehearsals that were left up, the newest last."""
    return [found.id for found in sweep.kept(places.base_folder())]


def at(out: Path) -> Kept | None:
    """The rehearsal with this output folder, where it was left up."""
    up = (find(found.id) for found in sweep.kept(places.base_folder()))
    return next((found for found in up if found.out == out.resolve()), None)


def status(kept: Kept) -> dict[str, Any]:
    """The rehearsal's nodes with their states in Slurm; the shape is version 1."""
    slurm = kept.cluster.slurm_states()
    nodes = [{**asdict(node), "slurm": slurm.get(node.name, "")} for node in kept.cluster.nodes()]
    info = ServerInfo.read(kept.state)
    return {
        "schema_version": 1,
        "id": kept.id,
        "cluster": kept.cluster_name,
        "endpoint": f"http://127.0.0.1:{info.port}" if info else "",
        "nodes": nodes,
    }


def shell_command(kept: Kept, name: str, user: str | None) -> tuple[Node, list[str]]:
    """A node and the command that opens a login shell there."""
    node = _running(kept, name)
    return node, kept.cluster.command(node, ["bash", "-l"], user)


def node_command(kept: Kept, name: str, argv: Sequence[str], user: str | None) -> list[str]:
    """The command that runs `argv` on a node."""
    return kept.cluster.command(_running(kept, name), list(argv), user)


def _running(kept: Kept, name: str) -> Node:
    """A node that can be entered."""
    if not kept.has_nodes:
        raise CannotRun(
            f"the rehearsal {kept.id} is reduced: its nodes are on paper, nothing of them runs",
            "up, down, diff and preflight work on it: --target rehearsal",
        )
    return kept.cluster.find(name)
