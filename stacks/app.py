"""All stacks of one cluster as a CDK app; hermetic: no lookups, clock, git or AWS call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from aws_cdk import App

from stacks.budget import BudgetStack
from stacks.cluster import HyperPodStack
from stacks.encryption import encryption
from stacks.identity import IdentityStack
from stacks.network import NetworkStack
from stacks.observability import ObservabilityStack
from stacks.storage import StorageStack
from unbroken.config import ClusterConfig

_CDK_JSON = Path(__file__).resolve().parent.parent / "cdk.json"


def build_app(config: ClusterConfig, outdir: Path | None = None, *, plain: bool = False) -> App:
    """The app, not yet synthesized. The same config gives the same bytes, whatever the path or the machine.

    ``plain`` templates deploy without CDK's bootstrap: no assets, no functions of CDK's own.
    CDK's own template validator costs most of a synth, so it is off unless $CDK_VALIDATION says otherwise.
    """
    app = App(
        outdir=str(outdir) if outdir else None,
        context={**_feature_flags(), **({"plain": True} if plain else {})},
        analytics_reporting=False,
        stack_traces=False,
        tree_metadata=False,
        builtin_cloud_formation_validation=None if "CDK_VALIDATION" in os.environ else False,
    )
    keys = encryption(app, config)
    network = NetworkStack(app, config, keys)
    storage = StorageStack(app, config, network, keys)
    identity = IdentityStack(app, config, network, keys)
    HyperPodStack(app, config, network, storage, identity, keys)
    if {config.observability.prometheus, config.observability.grafana} != {"none"}:
        ObservabilityStack(app, config, identity, keys)
    if config.budget is not None:
        BudgetStack(app, config, config.budget)
    return app


def _feature_flags() -> dict[str, Any]:
    """cdk.json's context: the command line passes it too, but tests and tools build the app without it."""
    flags: dict[str, Any] = json.loads(_CDK_JSON.read_text(encoding="utf-8"))["context"]
    return flags
