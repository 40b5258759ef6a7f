"""All stacks of one cluster as a CDK app; hermetic: no lookups, clock, git or AWS call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from aws_cdk import App

from stacks.cluster import HyperPodStack
from stacks.identity import IdentityStack
from stacks.network import NetworkStack
from stacks.storage import StorageStack
from unbroken.config import ClusterConfig

_CDK_JSON = Path(__file__).resolve().parent.parent / "cdk.json"


def build_app(config: ClusterConfig, outdir: Path | None = None) -> App:
    """The app, not yet synthesized. The same config gives the same bytes, whatever the path or the machine.

    CDK's own template validator costs most of a synth, so it is off unless $CDK_VALIDATION says otherwise.
    """
    app = App(
        outdir=str(outdir) if outdir else None,
        context=_feature_flags(),
        analytics_reporting=False,
        stack_traces=False,
        tree_metadata=False,
        builtin_cloud_formation_validation=None if "CDK_VALIDATION" in os.environ else False,
    )
    network = NetworkStack(app, config)
    storage = StorageStack(app, config, network)
    identity = IdentityStack(app, config)
    HyperPodStack(app, config, network, storage, identity)
    return app


def _feature_flags() -> dict[str, Any]:
    """cdk.json's context: the command line passes it too, but tests and tools build the app without it."""
    flags: dict[str, Any] = json.loads(_CDK_JSON.read_text(encoding="utf-8"))["context"]
    return flags
