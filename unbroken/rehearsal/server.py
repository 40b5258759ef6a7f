"""The rehearsal's server process and its entry point: starts everything, says when it is ready, ends cleanly.

Run by ``unbroken.rehearsal.aws.process`` as pid 1 of PID and mount namespaces of its own, or as an ordinary
process in a reduced rehearsal. What it is made of lives elsewhere; nothing but the wiring is here.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unbroken.rehearsal.aws import environment

if TYPE_CHECKING:
    from unbroken.rehearsal.composition import Rehearsal

DEFAULT_REGION = "us-west-2"

logger = logging.getLogger("unbroken.server")


@dataclass(frozen=True)
class Options:
    """What the server is told on its command line."""

    state: Path
    port: int
    region: str
    reduced: bool
    cluster: Path | None


def parse(argv: list[str]) -> Options:
    """The command line; a wrong one ends the program with code 2."""
    parser = argparse.ArgumentParser(
        prog="unbroken.rehearsal.server", description="The rehearsal's server process"
    )
    parser.add_argument("--state", type=Path, required=True, help="folder for server.json, events and logs")
    parser.add_argument("--port", type=int, required=True, help="loopback port of the embedded AWS")
    parser.add_argument("--region", default=DEFAULT_REGION, help="region the embedded AWS plays")
    parser.add_argument("--reduced", action="store_true", help="nodes on paper: no root, no namespaces")
    parser.add_argument("--cluster", type=Path, help="cluster file whose brought-along parts are made")
    return Options(**vars(parser.parse_args(argv)))


def main(argv: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    options = parse(sys.argv[1:] if argv is None else argv)
    (options.state / "tmp").mkdir(parents=True, exist_ok=True)
    _ensure_environment(options)
    pid = _host_pid()  # now: the machines mount a /proc of their own
    return _run(options, pid)


def _run(options: Options, pid: int) -> int:
    # Not at the top: ministack reads the environment while it is imported.
    from unbroken.rehearsal.composition import Rehearsal

    stopping = _stop_signals()
    rehearsal: Rehearsal | None = None
    try:
        rehearsal = Rehearsal(options.state, options.port, options.region, reduced=options.reduced)
        rehearsal.start()
        if options.cluster is not None:
            _bring(rehearsal, options.cluster)
        _write_ready(options, pid)
        os.read(stopping, 1)
    except Exception as error:
        logger.exception("the rehearsal's server failed")
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 2
    finally:
        if rehearsal is not None:
            rehearsal.stop()
    return 0


def _bring(rehearsal: Rehearsal, cluster: Path) -> None:
    from unbroken import config  # not at the top: pydantic's models take long to make, and few need them here

    rehearsal.bring(config.load(cluster))


def _ensure_environment(options: Options) -> None:
    """Start again with ministack's settings in the environment, where they are not there yet."""
    wanted = environment.server(options.port, options.state, options.region)
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        arguments = [sys.executable, "-m", "unbroken.rehearsal.server", *sys.argv[1:]]
        # itself again, without a shell
        os.execve(sys.executable, arguments, {**os.environ, **wanted})  # noqa: S606


def _stop_signals() -> int:
    """A descriptor that can be read from at the first signal to stop.

    Not an Event: its wait() and the handler's set() take the same lock, and a signal that comes as wait()
    begins would find it taken by the very thread that has to let it go.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def stop(*_: object) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(writing, b"!")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    return reading


def _host_pid() -> int:
    """Our process id as the host sees it: /proc is still the host's, while getpid() says 1 in a namespace."""
    return int(Path("/proc/self").readlink().name)


def _write_ready(options: Options, pid: int) -> None:
    """server.json appears whole, and only when everything answers."""
    record = {"pid": pid, "port": options.port, "id": options.state.name, "started": time.time()}
    partial = options.state / "server.json.partial"
    partial.write_text(json.dumps(record) + "\n")
    partial.replace(options.state / "server.json")


if __name__ == "__main__":
    sys.exit(main())
