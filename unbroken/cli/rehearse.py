"""The verb `rehearse`: options in, progress while it runs, a summary at the end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from unbroken import config
from unbroken.cli import output
from unbroken.cli.progress import display, interruptible
from unbroken.cli.summary import lines
from unbroken.ops.errors import CannotRun, OpsError
from unbroken.ops.rehearse import kept
from unbroken.ops.rehearse.ending import end
from unbroken.ops.rehearse.options import Options
from unbroken.ops.rehearse.run import rehearse
from unbroken.ops.stages import StageFailed


def rehearse_verb(
    *,
    cluster: str | None,
    fault: str,
    steps: int | None,
    workers: int | None,
    short: bool,
    out: Path,
    keep: bool,
    reduced: bool,
    as_json: bool,
) -> None:
    """Rehearse; the errors of it go to the caller."""
    file = config.find(cluster, os.environ)
    options = Options(file, fault, steps, workers, short, out, keep, reduced)
    with display(sys.stderr) as shown, interruptible(shown):
        try:
            report = rehearse(options, shown)
        except OpsError as error:
            shown.close()
            if isinstance(error, StageFailed):
                _explain(error, out)
            _say_kept(out)
            raise
    if as_json:
        output.data(report.model_dump_json(indent=2))
    output.talk("\n".join(["", *lines(report, out, sys.stderr)]))
    _say_kept(out)


def _explain(error: StageFailed, out: Path) -> None:
    """The log that explains a failure, before the sentence that says it."""
    output.log_end(error.log_name, error.log_lines)
    report = out / "report.html"
    written = f"the report is {report}" if report.exists() else "no report could be written"
    output.talk(f"\nthe stage '{error.stage}' failed; {written}")


def _say_kept(out: Path) -> None:
    """What can be done with the rehearsal of this folder, where it was left up."""
    found = kept.at(out)
    if found is None:
        return
    own = f" --id {found.id}" if len(kept.ids_up()) > 1 else ""
    output.talk("\nthe cluster is still up:")
    on_nodes = [
        ("  unbroken connect controller", "a shell on a node"),
        ("  unbroken exec controller -- sinfo", "a command on a node"),
    ]
    rows = [
        ("  unbroken status", "its nodes"),
        *(on_nodes if found.has_nodes else []),
        ("  unbroken diff --target rehearsal", "what `up` would do to it; up and down work too"),
        (f"  {found.cluster_file}", "its own cluster file, which those read"),
        (f"  unbroken rehearse --down{own}", "destroy it"),
    ]
    output.talk(output.table(rows))


def take_down(identity: str | None) -> None:
    """Destroy a kept rehearsal, and what is left of one that died. CannotRun where several are up."""
    dead = kept.remove_dead()
    for name in dead:
        output.talk(f"the rehearsal {name} had died; what it left is gone")
    up = kept.ids_up()
    if dead and (identity in dead or (identity is None and not up)):
        return
    if identity is None and len(up) > 1:
        raise CannotRun(f"several rehearsals are up: {', '.join(up)}", "name the one to destroy with --id")
    found = kept.find(identity)
    with display(sys.stderr) as shown:
        end(found, shown)
    output.talk(f"the rehearsal {found.id} is gone")
