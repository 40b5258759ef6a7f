"""Runs a job's ranks on this machine: `python -m training.local --config job.yaml --ranks 2`.

The same restart budget as under Slurm, so that losing a rank can be tried without a cluster: `--kill-rank R
--at-step S` kills rank R once step S is in the metrics, in the first attempt only. Exit codes as
supervise.py's.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from training import config
from training.arguments import job_parser
from training.console import EXIT_CANNOT_START, end_process, tell
from training.launch.reach import stop_with_parent
from training.launch.supervisor import Supervisor, supervise
from training.model.shape import choose

_NEEDED = ("torch", "transformers", "xxhash")
_POLL_SECONDS = 0.02
_GRACE_SECONDS = 30.0


@dataclass
class LocalStep:
    """All ranks as child processes of this one."""

    job_file: Path
    num_ranks: int
    overrides: list[str] = field(default_factory=list)
    kill_rank: int | None = None
    at_step: int = 0
    _ranks: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _wish: str = ""

    def run(self) -> int:
        """Start the ranks and wait; when one fails the others are ended and its code is returned."""
        port = _free_port()
        self._ranks = [self._start(rank, port) for rank in range(self.num_ranks)]
        try:
            return self._wait()
        finally:
            self._end_all()

    def stop(self) -> None:
        """Ask the first rank to stop; the ranks agree among themselves."""
        self._wish = self._wish or "stop"

    def end(self) -> None:
        """End all ranks now."""
        self._wish = "end"

    def _start(self, rank: int, port: int) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(self.num_ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }
        command = [sys.executable, "-m", "training.pretrain", "--config", str(self.job_file), *self.overrides]
        # Ctrl-C comes to this process alone, which tells the ranks once
        return subprocess.Popen(command, env=environment, start_new_session=True, preexec_fn=stop_with_parent)

    def _wait(self) -> int:
        told = False
        while True:
            codes = [process.poll() for process in self._ranks]
            if EXIT_CANNOT_START in codes:
                self._wish = "end"  # the others wait for it, and have nothing to save
                return EXIT_CANNOT_START
            if failed := [code for code in codes if code]:
                return failed[0]
            if all(code == 0 for code in codes):
                return 0
            if self._wish == "end":
                return 128 + signal.SIGKILL
            if self._wish and not told:
                told = True
                tell("launcher: the ranks are told to save and leave")
                self._ranks[0].send_signal(signal.SIGTERM)
            self._kill_when_due()
            time.sleep(_POLL_SECONDS)

    def _kill_when_due(self) -> None:
        if self.kill_rank is None or self._last_step() < self.at_step:
            return
        print(f"local: killing rank {self.kill_rank} after step {self.at_step}", file=sys.stderr, flush=True)
        self._ranks[self.kill_rank].kill()
        self.kill_rank = None

    def _last_step(self) -> int:
        """Newest step in the metrics, 0 before the first."""
        metrics = self.job_file.absolute().parent / "run" / "metrics.jsonl"
        with contextlib.suppress(FileNotFoundError, IndexError, ValueError):
            last_line = metrics.read_text(encoding="utf-8").splitlines()[-1]
            return int(json.loads(last_line)["step"])
        return 0

    def _end_all(self) -> None:
        """Let ranks that are saving finish, within limits; then make sure that none is left."""
        until = time.monotonic() + (0.0 if self._wish == "end" else _GRACE_SECONDS)
        for process in self._ranks:
            if process.poll() is None:
                process.terminate()
        for process in self._ranks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            if process.poll() is None:
                process.kill()
            process.wait()


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    parser = job_parser("python -m training.local")
    parser.add_argument("--ranks", type=int, default=2, help="processes to train with")
    parser.add_argument(
        "--kill-rank", type=int, help="kill this rank once, to see the run go on without a loss"
    )
    parser.add_argument("--at-step", type=int, default=1, help="when to kill it")
    options = parser.parse_intermixed_args(arguments)
    if absent := [name for name in _NEEDED if find_spec(name) is None]:
        hint = "make setup, then . .venv/bin/activate"
        print(f"local: {sys.executable} has no {', '.join(absent)}\n  hint: {hint}", file=sys.stderr)
        return EXIT_CANNOT_START
    try:
        choose(config.load(options.config, options.overrides), options.config.absolute().parent)
    except config.JobConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_CANNOT_START
    if options.ranks < 1 or (options.kill_rank is not None and not 0 <= options.kill_rank < options.ranks):
        print("local: --ranks must be 1 or more, and --kill-rank one of 0 to ranks - 1", file=sys.stderr)
        return EXIT_CANNOT_START
    step = LocalStep(options.config, options.ranks, options.overrides, options.kill_rank, options.at_step)
    return supervise(Supervisor(options.config.absolute().parent / "run", step))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    end_process(main())
