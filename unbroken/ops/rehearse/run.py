"""The verb: everything around the stages. Checks first, cleans up whatever happens, and writes the report."""

from __future__ import annotations

import json
import os
import shutil
import traceback
from dataclasses import replace
from pathlib import Path

from unbroken import config
from unbroken.ops.errors import CannotRun, CheckFailed, OpsError
from unbroken.ops.interrupts import Interrupted, as_exceptions
from unbroken.ops.rehearse import capability, environment, full, places, reduced, reporting, sweep
from unbroken.ops.rehearse.context import Context, write_cluster_file
from unbroken.ops.rehearse.options import Options, overlay
from unbroken.ops.rehearse.places import Owner
from unbroken.ops.rehearse.smaller import Rehearsed, smaller
from unbroken.ops.stages import Display, StageFailed, Stages
from unbroken.ops.tools import project_root
from unbroken.rehearsal.aws.process import ServerError, ServerInfo, ServerProcess
from unbroken.rehearsal.events import EventLog
from unbroken.rehearsal.faults import FAULTS
from unbroken.rehearsal.report_model import Report


def rehearse(options: Options, display: Display) -> Report:
    """Rehearse and report. ConfigError or CannotRun before anything started, StageFailed (reported) after."""
    _check(options)
    declared = config.load(options.cluster)
    options = _for_this_cluster(options, declared, display)
    chosen = smaller(declared, options.workers, short=options.short)
    root = project_root()
    whole = _capability(options, display)
    with places.alone_in(options.out), as_exceptions(display.say) as signals:
        context = _prepare(options, chosen, root, whole, display)
        try:
            return _story(context)
        finally:
            signals.only_said()
            _clean_up(context, keep=options.keep and not signals.interrupted)


def _check(options: Options) -> None:
    known = [*FAULTS, "none"]
    if options.fault not in known:
        raise CannotRun(f"'{options.fault}' is no fault", f"the faults are: {', '.join(known)}")


def _for_this_cluster(options: Options, declared: config.ClusterConfig, display: Display) -> Options:
    """Where nobody replaces a lost node, another fault is rehearsed."""
    if declared.node_recovery == "Automatic" or not FAULTS.get(options.fault, FAULTS["task"]).replaces_node:
        return options
    display.say("node_recovery is None, so no lost node comes back: the fault is `task` instead")
    return replace(options, fault="task")


def _capability(options: Options, display: Display) -> bool:
    """Whether nodes can be had; says what is left out and how to get the whole otherwise."""
    found = capability.Capability(("--reduced was asked for",)) if options.reduced else capability.probe()
    if not found.full:
        display.say(f"This rehearsal is reduced: {'; '.join(found.missing)}")
        for item in capability.LEFT_OUT:
            display.say(f"  left out: {item}")
        for way in capability.WAYS_TO_THE_WHOLE:
            display.say(f"  for the whole: {way}")
    for warning in found.warnings:
        display.say(f"note: {warning}")
    return found.full


def _prepare(
    options: Options,
    chosen: Rehearsed,
    root: Path,
    whole: bool,
    display: Display,
) -> Context:
    """Sweep, check the environment, make the folders. CannotRun says what is missing."""
    base = places.base_folder()
    environment.require(root, base, options.out.resolve())
    swept = sweep.sweep(base, sweep.cleaners(whole))
    if swept:
        display.say(f"removed what killed rehearsals left: {', '.join(swept)}")
    where = places.create(options.out, base)
    with places.removed_on_failure(where.state):
        if chosen.changes:
            write_cluster_file(chosen.config, where.cluster_file)
        file = where.cluster_file if chosen.changes else options.cluster.resolve()
        events = EventLog(where.events)
        reporting.begin(where, events, reporting.Setup(options, chosen, overlay(options), whole))
        server = ServerProcess(
            where.state, chosen.config.region, reduced=not whole, keep=options.keep, cluster=file
        )
        stages = Stages(display, events.emit)
        return Context(options, chosen.config, root, where, events, display, stages, whole, server)


def _story(context: Context) -> Report:
    """Run the stages; the report, or the failure after having reported it."""
    try:
        (full if context.full else reduced).run(context)
    except Interrupted as error:
        error.explanation = ["everything it had started is gone"]
        raise
    except OpsError as error:
        _report_failure(context, error)
        raise
    except OSError as error:
        named = StageFailed(f"{error.filename or 'a file'}: {error.strerror or error}", "is the disk full?")
        _report_failure(context, named)
        raise named from error
    except Exception as error:
        unexpected = _unexpected(context, error)
        _report_failure(context, unexpected)
        raise unexpected from error
    context.events.emit("rehearse", "end", context.places.id)
    result = reporting.write(context.places, context.metrics)
    if result.verdict == "failed":
        raise CheckFailed("; ".join(result.problems), f"the report is {context.places.out / 'report.html'}")
    return result


def _unexpected(context: Context, error: Exception) -> StageFailed:
    """An error of ours: the traceback goes to a log, the user gets a sentence."""
    log = context.places.log("error")
    log.write_text("".join(traceback.format_exception(error)))
    return StageFailed(
        f"{type(error).__name__}: {error}", f"this is an error of the rehearsal itself; details in {log}", log
    )


def _report_failure(context: Context, error: OpsError) -> None:
    """Put the failure into the events and write the report of it."""
    stage = getattr(error, "stage", "") or "rehearsal"
    lines = getattr(error, "log_lines", [])
    try:
        context.events.emit("rehearse", "failure", stage, message=error.message, hint=error.hint, log=lines)
        reporting.write(context.places, context.metrics)
    except Exception as problem:  # whatever it is, it must not hide the failure itself
        context.display.say(f"the report could not be written: {type(problem).__name__}: {problem}")


def _clean_up(context: Context, keep: bool) -> None:
    """Leave nothing behind, or where the cluster is kept, say whose it is now."""
    _copy_log(context)
    if keep and context.deployed and sweep.server_pid(context.places.state):
        _hand_over(context)
        return
    _stop_server(context)
    for left in sweep.remove(
        sweep.Found(context.places.id, context.places.state, None), sweep.cleaners(context.full)
    ):
        context.display.say(f"could not be removed: {left}")


def _stop_server(context: Context) -> None:
    """End the server: asked where it is up, by force where it was still starting and would not listen."""
    state = context.places.state
    if ServerInfo.read(state) is None:
        sweep.end_server(sweep.Found(context.places.id, state, None))
    try:
        context.server.stop()
    except (ServerError, OSError) as error:  # whatever it is, the rest has to go as well
        context.display.say(str(error))


def _copy_log(context: Context) -> None:
    """Give the user the server's log, where there is one and room for it."""
    try:
        shutil.copyfile(context.server.log, context.places.log("server"))
    except FileNotFoundError:
        return
    except OSError as error:
        context.display.say(f"the server's log could not be kept: {error.strerror}")


def _hand_over(context: Context) -> None:
    """From now on the rehearsal belongs to its server: it is swept only when that is gone."""
    pid = sweep.server_pid(context.places.state) or os.getpid()
    record = {
        "cluster": context.config.name,
        "region": context.config.region,
        "controller_group": context.config.controller_group.name,
        "nodes": context.full,
        "out": str(context.places.out),
        "cluster_file": str(context.cluster_file()),
    }
    (context.places.state / places.KEPT_RECORD).write_text(json.dumps(record))
    context.places.write_owner(Owner.process(pid, kept=True))
