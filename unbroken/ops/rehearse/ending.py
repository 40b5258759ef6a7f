"""The end of a kept rehearsal: its stacks, then the embedded AWS and every trace of it."""

from __future__ import annotations

import os
import signal
import time

from unbroken import config
from unbroken.ops.down.parts import parts
from unbroken.ops.down.take_down import take_down
from unbroken.ops.rehearse import places, sweep
from unbroken.ops.rehearse.kept import Kept
from unbroken.ops.stages import Display, Stages

STOP_SECONDS = 30.0


def end(kept: Kept, display: Display) -> None:
    """Take its stacks down as `unbroken down` does, then end the embedded AWS and remove what is left."""
    try:
        with Stages(display).stage("destroy", "Take the stacks down") as stage:
            cluster = config.load(kept.cluster_file)
            take_down(kept.target, cluster, parts(kept.target, cluster.name), stage.detail, skip_exports=True)
    finally:
        _stop(kept)
        sweep.remove(sweep.Found(kept.id, kept.state, None), sweep.cleaners(os.geteuid() == 0))


def _stop(kept: Kept) -> None:
    """Ask the server to end and wait; what is left is killed by the caller."""
    start = places.process_start(kept.server_pid)
    os.kill(kept.server_pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while places.process_start(kept.server_pid) == start != "" and time.monotonic() < deadline:
        time.sleep(sweep.POLL_SECONDS)
