"""The verb `export`: the cluster for those who deploy without this project."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from unbroken.checks.result import counted
from unbroken.cli import output
from unbroken.cli.options import ClusterFile, Json, Rehearsal, TargetName
from unbroken.cli.progress import display
from unbroken.ops.stages import Stages

export = typer.Typer(no_args_is_help=True, help="Write the cluster for those who deploy without unbroken.")


@export.command()
def cloudformation(
    cluster: ClusterFile = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go.")] = Path(
        "out/cloudformation"
    ),
    as_json: Json = False,
) -> None:
    """Write plain templates and a script that deploys them.

    With all that they need beside them, and without CDK's bootstrap.
    """
    from unbroken.ops.export import cloudformation as plain

    with display(sys.stderr) as shown, Stages(shown).stage("export", "Write templates and files") as stage:
        result = plain.export(cluster, out)
        stage.note = counted(len(result.stacks), "stack")
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
        return
    output.data("\n".join(result.stacks))
    output.talk(f"\nread {out / 'README.md'}, then deploy with {out / 'deploy.sh'}")


@export.command()
def hyperpod(
    cluster: ClusterFile = None,
    target: TargetName = "aws",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go.")] = Path("out/hyperpod"),
    rehearsal: Rehearsal = None,
    as_json: Json = False,
) -> None:
    """Write HyperPod's own files of the deployed cluster.

    cluster-config.json, provisioning_parameters.json and env_vars.
    """
    from unbroken.ops.export import hyperpod as own

    result = own.export(cluster, target, rehearsal, out)
    if as_json:
        output.data(json.dumps({"schema_version": 1, **asdict(result)}, indent=2))
        return
    output.data("\n".join(str(out / name) for name in result.files))
