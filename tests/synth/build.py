"""Synth for tests: a cluster file in, templates as plain JSON out.

Assertions are made on the JSON, since CDK's own assertion classes cost seconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from stacks.node_runtime import use_packaged_node
from unbroken.config import ClusterConfig

Resource = dict[str, Any]
REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = {path.stem: path for path in sorted((REPOSITORY / "clusters").glob("*.yaml"))}
"""Every cluster file of the repository, by its name."""
AREAS = ("encryption", "network", "storage", "identity", "cluster", "observability", "budget")
"""Every stack there can be, in the order in which they are deployed."""


@dataclass(frozen=True)
class Synth:
    """One synthesized app."""

    config: ClusterConfig
    folder: Path

    @cached_property
    def areas(self) -> tuple[str, ...]:
        """The stacks this cluster has."""
        made = {name for name, body in self.artifacts.items() if body["type"] == "aws:cloudformation:stack"}
        assert made <= {f"{self.config.name}-{area}" for area in AREAS}, made
        return tuple(area for area in AREAS if f"{self.config.name}-{area}" in made)

    @cached_property
    def artifacts(self) -> dict[str, Any]:
        """The manifest's."""
        manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        return manifest["artifacts"]  # type: ignore[no-any-return]  # JSON

    def path(self, area: str) -> Path:
        """A stack's template file."""
        return self.folder / f"{self.config.name}-{area}.template.json"

    def template(self, area: str) -> dict[str, Any]:
        """A stack's template, a copy of one's own."""
        content: dict[str, Any] = json.loads(self.path(area).read_text(encoding="utf-8"))
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
        for area in self.areas:
            for name, body in self.template(area)["Resources"].items():
                yield area, name, body


def synth(config: ClusterConfig, folder: Path) -> Synth:
    """Build and synthesize into ``folder``."""
    use_packaged_node(os.environ)
    from stacks.app import build_app  # after the Node.js it runs on is chosen

    build_app(config, folder).synth()
    return Synth(config, folder)
