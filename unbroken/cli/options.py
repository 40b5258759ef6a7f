"""Options that several verbs have."""

from __future__ import annotations

from typing import Annotated

import typer

from unbroken.cli import output

ClusterFile = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="FILE",
        help="The cluster file. Default: $UNBROKEN_CLUSTER, ./cluster.yaml, clusters/mathstral.yaml; "
        "of a kept rehearsal, its own.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on stdout.", callback=output.as_json)
]
TargetName = Annotated[
    str,
    typer.Option("--target", metavar="NAME", help="Where: aws, or rehearsal (a kept one, on this machine)."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Rehearsal = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="Which kept rehearsal. Default: the newest.")
]
