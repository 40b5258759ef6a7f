"""The watchdog of one node: `python -m training.watch.watchdog`, started by the node's first rank.

A process of its own, so that it goes on when a rank is stopped (SIGSTOP) or holds the interpreter. When a
rank's next sign of life is overdue, the stacks of all ranks are written to run/stacks/ and the ranks of this
node are killed, which torchrun sees at once; those of other nodes follow. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from training import runstate
from training.files import replace_text
from training.watch.evidence import collect, describe, kill, suspects
from training.watch.heartbeat import Beat, is_alive, read_beats

FIRED = "fired.json"
"""Name of the file in run/stacks/ by which the watchdogs of all nodes fire together."""


@dataclass
class Watchdog:
    """Compares the heartbeats of a node with their limits."""

    heartbeats: Path
    run_directory: Path
    poll_seconds: float
    _suspected: list[Beat] = field(default_factory=list)
    _before: str = field(init=False)
    """What an earlier attempt's watchdog left; clocks of two nodes may differ by more than a start takes."""

    def __post_init__(self) -> None:
        self._before = self._fired()

    def run(self) -> bool:
        """Watch until every rank of the node has ended; returns whether it had to end them."""
        while living := [beat for beat in read_beats(self.heartbeats) if is_alive(beat)]:
            if reason := self._reason(living):
                self._fire(living, reason)
                return True
            _pause(living, self.poll_seconds)
        return False

    def _reason(self, living: list[Beat]) -> str:
        """Why to fire, or nothing. A beat must be seen overdue twice: it may be half read."""
        overdue = [beat for beat in living if beat.overdue(time.monotonic())]
        confirmed = [beat for beat in overdue if beat in self._suspected]
        self._suspected = overdue
        if confirmed:
            return describe(suspects(living, confirmed), time.monotonic())
        return self._fired_elsewhere()

    def _fired_elsewhere(self) -> str:
        if (found := self._fired()) in ("", self._before):
            return ""
        fired = json.loads(found)
        return f"{fired['reason']} (seen on {fired['host']})"

    def _fired(self) -> str:
        try:
            return (self.run_directory / "stacks" / FIRED).read_text(encoding="utf-8")
        except OSError:
            return ""

    def _fire(self, living: list[Beat], reason: str) -> None:
        stacks = self.run_directory / "stacks"
        stacks.mkdir(parents=True, exist_ok=True)
        said_elsewhere = bool(self._fired_elsewhere())
        if not said_elsewhere:
            record = {"t": time.time(), "host": socket.gethostname(), "reason": reason}
            replace_text(stacks / FIRED, json.dumps(record) + "\n")
        attempt = runstate.read_state(self.run_directory).attempt
        print(f"watchdog: {reason}; stacks are in {stacks}", file=sys.stderr, flush=True)
        collect(living, self.heartbeats, stacks / f"attempt-{attempt}")
        if not said_elsewhere:
            self._record(living, reason)
            time.sleep(2 * self.poll_seconds)  # so that the watchdogs of other nodes see it in time
        kill(living)

    def _record(self, living: list[Beat], reason: str) -> None:
        rank = suspects(living, self._suspected)[0].rank
        runstate.write_failure(self.run_directory, rank, f"hang: {reason}", from_a_peer=False)


def _pause(living: list[Beat], seconds: float) -> None:
    """Wait, but not when a rank ends: who reads the ranks' output waits for this process to close it."""
    ends = select.poll()
    descriptors: list[int] = []
    try:
        for beat in living:
            descriptors.append(os.pidfd_open(beat.pid))
            ends.register(descriptors[-1], select.POLLIN)
        ends.poll(seconds * 1000)
    except OSError:  # one has just ended
        time.sleep(0.01)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def main(arguments: list[str] | None = None) -> int:
    """Entry point; ends with the last rank of the node."""
    parser = argparse.ArgumentParser(prog="python -m training.watch.watchdog")
    parser.add_argument("--heartbeats", type=Path, required=True)
    parser.add_argument("--run-directory", type=Path, required=True)
    parser.add_argument("--poll-seconds", type=float, required=True)
    options = parser.parse_args(arguments)
    Watchdog(options.heartbeats, options.run_directory, options.poll_seconds).run()
    shutil.rmtree(options.heartbeats, ignore_errors=True)
    return 0


if __name__ == "__main__":
    os._exit(main())
