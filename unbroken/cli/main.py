"""The `unbroken` command. A verb is imported when it is called: `--help` costs nothing but the parser."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from unbroken.cli import output
from unbroken.cli.exits import exit_code, interrupted
from unbroken.cli.export import export
from unbroken.cli.options import ClusterFile, Json, Rehearsal, TargetName, Yes

app = typer.Typer(
    name="unbroken",
    help="SageMaker HyperPod training clusters from one file, rehearsed end to end on one Linux machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        output.data(f"unbroken {version('unbroken')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def init(
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the cluster.")] = None,
    region: Annotated[str | None, typer.Option(metavar="REGION", help="AWS region.")] = None,
    zone: Annotated[
        str | None, typer.Option(metavar="ID", help="Id of the zone that has the capacity, as in usw2-az4.")
    ] = None,
    type: Annotated[str | None, typer.Option(metavar="TYPE", help="Type of the workers.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="How many workers.")] = None,
    shape: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="Example to begin with: clusters/NAME.yaml.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the file goes.")] = Path("cluster.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a new cluster file; asks for what is not given."""
    from unbroken.cli.init import init_file

    given = {"name": name, "region": region, "zone": zone, "type": type, "count": count}
    init_file(given, shape, out, force, as_json)


@app.command()
def check(cluster: ClusterFile = None, as_json: Json = False) -> None:
    """Say what is wrong with the cluster file, or what it describes."""
    from unbroken.cli.check import check_file

    check_file(cluster, as_json)


@app.command()
def cost(
    cluster: ClusterFile = None,
    tokens_per_second: Annotated[
        float | None, typer.Option(min=0.001, help="The job's speed, of one rank, as measured.")
    ] = None,
    mfu: Annotated[
        float | None, typer.Option(min=0.001, max=1.0, help="The job's expected part of the GPUs' peak.")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask AWS for today's prices first, and keep them.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what the cluster and its job cost."""
    from unbroken.cli.cost import show_cost
    from unbroken.ops.cost.report import Speed

    show_cost(cluster, Speed(tokens_per_second, mfu), refresh, as_json)


@app.command()
def preflight(
    cluster: ClusterFile = None,
    target: TargetName = "aws",
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask AWS nothing; its checks count as not run.")
    ] = False,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Exit with 0 although some answers are UNKNOWN.")
    ] = False,
    with_rehearsal: Annotated[
        bool, typer.Option("--rehearse", help="End with a short rehearsal of the file.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the rehearsal's report and logs go.")
    ] = Path("out/rehearsal"),
    rehearsal: Rehearsal = None,
    as_json: Json = False,
) -> None:
    """Ask what can be known before a deployment: PASS, FAIL, UNKNOWN."""
    from unbroken.cli.preflight import preflight_verb
    from unbroken.ops.preflight.run import Request

    preflight_verb(
        Request(cluster, target, rehearsal, offline),
        allow_unknown=allow_unknown,
        rehearse=with_rehearsal,
        out=out,
        as_json=as_json,
    )


@app.command()
def rehearse(
    cluster: ClusterFile = None,
    fault: Annotated[
        str, typer.Option(metavar="NAME", help="What breaks mid-run: worker, first-node, task or none.")
    ] = "worker",
    steps: Annotated[int | None, typer.Option(min=4, help="Training steps of the rehearsed job.")] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where report.html, report.json and the logs go.")
    ] = Path("out/rehearsal"),
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster up at the end.")] = False,
    down: Annotated[bool, typer.Option("--down", help="Destroy a kept rehearsal, and nothing else.")] = False,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Rehearse without nodes, as on a machine that cannot have them.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers in the first group, if not as in the cluster file.")
    ] = None,
    short: Annotated[bool, typer.Option("--short", help="Two workers at most and few steps.")] = False,
    rehearsal: Rehearsal = None,
    as_json: Json = False,
) -> None:
    """Do it all here: deploy, train, lose a node, recover, end."""
    from unbroken.cli.rehearse import rehearse_verb, take_down

    if down:
        take_down(rehearsal)
        return
    rehearse_verb(
        cluster=cluster,
        fault=fault,
        steps=steps,
        workers=workers,
        short=short,
        out=out,
        keep=keep,
        reduced=reduced,
        as_json=as_json,
    )


@app.command()
def status(rehearsal: Rehearsal = None, as_json: Json = False) -> None:
    """Show the nodes of a kept rehearsal."""
    from unbroken.cli.nodes import show_status

    show_status(rehearsal, as_json)


@app.command()
def connect(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node's name, its group or `controller`.")],
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Become this user. Default: root.")] = None,
    rehearsal: Rehearsal = None,
) -> None:
    """Open a shell on a node of a kept rehearsal."""
    from unbroken.cli.nodes import open_shell

    open_shell(rehearsal, node, user)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node's name, its group or `controller`.")],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run there.")],
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Run as this user. Default: root.")] = None,
    rehearsal: Rehearsal = None,
) -> None:
    """Run a command on a node of a kept rehearsal.

    The exit code is the command's.
    """
    from unbroken.cli.nodes import run_command

    run_command(rehearsal, node, command, user)


@app.command()
def diff(
    cluster: ClusterFile = None,
    target: TargetName = "aws",
    rehearsal: Rehearsal = None,
    as_json: Json = False,
) -> None:
    """Say what `up` would do to nodes, data and all else deployed."""
    from unbroken.cli.diff import diff_verb

    diff_verb(cluster, target, rehearsal, as_json)


@app.command()
def up(
    cluster: ClusterFile = None,
    target: TargetName = "aws",
    yes: Yes = False,
    allow_replace: Annotated[
        bool, typer.Option("--allow-replace", help="Do also what replaces data or the cluster.")
    ] = False,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE", help="A node (instance id) that may go where a group gets fewer."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where templates and logs go.")] = Path("out/up"),
    rehearsal: Rehearsal = None,
    as_json: Json = False,
) -> None:
    """Deploy the cluster, or bring it up to date with its file."""
    from unbroken.cli.up import up_verb
    from unbroken.ops.up.run import Request

    request = Request(cluster, target, rehearsal, out, allow_replace, tuple(remove or ()))
    up_verb(request, yes=yes, as_json=as_json)


@app.command()
def down(
    cluster: ClusterFile = None,
    target: TargetName = "aws",
    yes: Yes = False,
    skip_exports: Annotated[
        bool, typer.Option("--skip-exports", help="Do not wait for files to reach their bucket.")
    ] = False,
    rehearsal: Rehearsal = None,
    as_json: Json = False,
) -> None:
    """Take the cluster down, and say what stays."""
    from unbroken.cli.down import down_verb
    from unbroken.ops.down.run import Request

    down_verb(Request(cluster, target, rehearsal, skip_exports), yes=yes, as_json=as_json)


app.add_typer(export, name="export")


def run() -> None:
    """The entry point of the `unbroken` command."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupted)  # typer would end without a word
    sys.exit(exit_code(app))
