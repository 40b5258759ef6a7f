"""The verb: the file's templates beside what is deployed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from unbroken.ops.choose_target import chosen
from unbroken.ops.diff.plan import Plan, Refusal, plan
from unbroken.ops.node_bundles import OtherBundle, other_bundle
from unbroken.ops.stages import Display, Stages
from unbroken.ops.synth import synth
from unbroken.ops.tools import project_root


@dataclass(frozen=True)
class Diff:
    """What a deployment would do, and what of it `up` refuses."""

    cluster: str
    region: str
    plan: Plan
    refusals: list[Refusal]
    other_bundle: OtherBundle | None
    """Than the one that is deployed now; None without nodes that run."""


def diff(cluster: str | None, target: str, rehearsal: str | None, display: Display) -> Diff:
    """Compare. ConfigError for a wrong file; CannotRun or AwsError where templates or AWS cannot be had."""
    path, config, where = chosen(target, cluster, rehearsal)
    stages = Stages(display)
    with tempfile.TemporaryDirectory(prefix="unbroken-diff-") as folder:
        with stages.stage("synth", "Make the templates"):
            assembly = synth(project_root(), path, Path(folder))
        with stages.stage("plan", "Compare with what is deployed"):
            found = plan(where.aws, assembly, config.name)
            other = other_bundle(where, config) if found.nodes and where.runs_nodes else None
    return Diff(config.name, where.region, found, found.refusals(), other)
