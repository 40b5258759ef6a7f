"""Synth for tests: a cluster file in, templates as plain JSON out.

Assertions are made on the JSON, since CDK's own assertion classes cost seconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stacks.node_runtime import use_packaged_node
from unbroken.config import ClusterConfig

Resource = dict[str, Any]
STACKS = ("network", "storage", "identity", "cluster")


@dataclass(frozen=True)
class Synth:
    """One synthesized app."""

    config: ClusterConfig
    folder: Path

    def template(self, area: str) -> dict[str, Any]:
        path = self.folder / f"{self.config.name}-{area}.template.json"
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def resources(self, area: str, kind: str) -> dict[str, Resource]:
        """A stack's resources of one type, by logical id."""
        found = self.template(area)["Resources"]
        return {name: body for name, body in found.items() if body["Type"] == kind}

    def one(self, area: str, kind: str) -> Resource:
        """The only resource of a type."""
        [found] = self.resources(area, kind).values()
        return found

    def everything(self) -> Iterator[tuple[str, str, Resource]]:
        """Area, logical id and body of every resource."""
        for area in STACKS:
            for name, body in self.template(area)["Resources"].items():
                yield area, name, body


def synth(config: ClusterConfig, folder: Path) -> Synth:
    """Build and synthesize into ``folder``."""
    use_packaged_node(os.environ)
    from stacks.app import build_app  # after the Node.js it runs on is chosen

    build_app(config, folder).synth()
    return Synth(config, folder)
