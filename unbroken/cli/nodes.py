"""The verbs on a kept rehearsal: status, connect, exec."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import typer

from unbroken.cli import output
from unbroken.ops.rehearse import kept


def show_status(identity: str | None, as_json: bool) -> None:
    """Print the nodes of a kept rehearsal."""
    status = kept.status(kept.find(identity))
    if as_json:
        output.data(json.dumps(status, indent=2))
        return
    head = ("NODE", "GROUP", "ADDRESS", "INSTANCE", "STATUS", "SLURM")
    keys = ("name", "group", "ip", "instance_id", "status", "slurm")
    output.talk(f"rehearsal {status['id']} of {status['cluster']}, AWS at {status['endpoint']}\n")
    output.data(output.table([head, *(tuple(node[key] or "-" for key in keys) for node in status["nodes"])]))


def open_shell(identity: str | None, name: str, user: str | None) -> None:
    """Become a shell on the node; does not return."""
    node, command = kept.shell_command(kept.find(identity), name, user)
    output.talk(f"{node.name} ({node.group}); leave with exit or Ctrl-D")
    sys.stdout.flush()
    os.execvp(command[0], command)  # noqa: S606  (the command is ours; the terminal is the user's)


def run_command(identity: str | None, name: str, argv: list[str], user: str | None) -> None:
    """Run a command on the node with our own streams; ends with its exit code."""
    words = argv[1:] if argv[0] == "--" else argv
    command = kept.node_command(kept.find(identity), name, words, user)
    raise typer.Exit(subprocess.run(command, check=False).returncode)
