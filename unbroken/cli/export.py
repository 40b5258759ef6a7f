"""The verb `export`: the cluster for those who deploy without this project."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from unbroken.cli import output
from unbroken.cli.progress import display
from unbroken.ops.stages import Stages


def export_cloudformation(cluster: str | None, out: Path, as_json: bool) -> None:
    """Write the folder and name its stacks. Errors go to the caller."""
    from unbroken.ops.export.cloudformation import export

    with display(sys.stderr) as shown, Stages(shown).stage("export", "Write templates and files") as stage:
        result = export(cluster, out)
        stage.note = f"{len(result.stacks)} stacks"
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
        return
    output.data("\n".join(result.stacks))
    output.talk(f"\nread {out / 'README.md'}, then deploy with {out / 'deploy.sh'}")


def export_hyperpod(
    cluster: str | None, target: str, rehearsal: str | None, out: Path, as_json: bool
) -> None:
    """Write the files and name them. Errors go to the caller."""
    from unbroken.ops.export.hyperpod import export

    result = export(cluster, target, rehearsal, out)
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
        return
    output.data("\n".join(str(out / name) for name in result.files))
