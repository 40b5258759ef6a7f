"""What is known about ranks that hang: who is to blame, and every rank's stacks. Standard library only."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from training.watch.heartbeat import Beat, process_state, stacks_file

STACKS_SIGNAL = signal.SIGUSR2
"""Makes a rank write the stacks of its threads; the interpreter need not be free for it."""
NCCL_PIPE = "nccl-pipe-"
"""Prefix of the pipes through which torch is asked for the flight recorder's record of a rank."""
_STATES = {"T": "stopped by a signal", "t": "stopped by a debugger", "D": "waits for a device"}
_STOPPED = ("T", "t")
_PATIENCE_SECONDS, _LOOK_SECONDS = 10.0, 0.1
_QUIET_LOOKS = 10
"""So often in a row no file may have grown: stacks are written line by line, on nodes that may be busy."""


def suspects(living: list[Beat], overdue: list[Beat]) -> list[Beat]:
    """The ranks to blame, as far as one node can tell: those that cannot run; else those that are behind.

    The others are overdue only because they wait for these.
    """
    if halted := [beat for beat in living if process_state(beat.pid) in _STATES]:
        return halted
    behind = min(beat.step for beat in living)
    slowest = [beat for beat in overdue if beat.step == behind]
    elsewhere = [beat for beat in slowest if beat.phase not in ("step", "end")]
    return elsewhere or slowest or overdue


def describe(blamed: list[Beat], now: float) -> str:
    """The reason in words; without times, so that the same hang reads the same the next time."""
    by_phase: dict[tuple[str, str], list[int]] = {}
    for beat in blamed:
        by_phase.setdefault((beat.phase, process_state(beat.pid)), []).append(beat.rank)
    parts = []
    for (phase, state), ranks in by_phase.items():
        word = f" ({_STATES[state]})" if state in _STATES else ""
        parts.append(f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))} in {phase}{word}")
    return "no sign of life from " + " and ".join(parts)


def collect(living: list[Beat], heartbeats: Path, folder: Path) -> None:
    """Have every rank of this node write its stacks, and put them into a folder, one file a rank.

    The ranks are left stopped: one that was stopped, and must go on for a moment to write its stacks, finds
    the others stopped, so that nothing is trained or saved by ranks that are about to be killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    states = {beat.pid: process_state(beat.pid) for beat in living}
    halted = [beat for beat in living if states[beat.pid] in _STOPPED]
    running = [beat for beat in living if beat not in halted]
    for some in (running, halted):
        _write_stacks(some, heartbeats)
        _signal(living, signal.SIGSTOP)
    for beat in living:
        text = _header(beat, states[beat.pid]) + _stacks(heartbeats, beat.rank)
        (folder / f"rank-{beat.rank}.txt").write_text(text, encoding="utf-8")


def kill(living: list[Beat]) -> None:
    """End the ranks at once: a stopped process takes no other signal."""
    _signal(living, signal.SIGKILL)


def _write_stacks(some: list[Beat], heartbeats: Path) -> None:
    asked = [beat for beat in some if stacks_file(heartbeats, beat.rank).exists()]
    sizes = {beat.rank: _size(stacks_file(heartbeats, beat.rank)) for beat in asked}
    _signal(asked, STACKS_SIGNAL)
    _signal(some, signal.SIGCONT)  # a stopped process handles the waiting signal first
    records = [_ask_flight_recorder(beat.rank, heartbeats) for beat in some]
    until, quiet = time.monotonic() + _PATIENCE_SECONDS, 0
    while time.monotonic() < until and (any(records) or quiet < _QUIET_LOOKS):
        time.sleep(_LOOK_SECONDS)
        quiet = quiet + 1 if _all_written(sizes, heartbeats) else 0


def _signal(ranks: list[Beat], number: signal.Signals) -> None:
    for beat in ranks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(beat.pid, number)


def _ask_flight_recorder(rank: int, heartbeats: Path) -> bool:
    """Ask torch for its record of NCCL's work; whether there is one to wait for."""
    try:
        pipe = os.open(heartbeats / f"{NCCL_PIPE}{rank}.pipe", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # there is no pipe without NCCL
        return False
    os.write(pipe, b"1\n")
    os.close(pipe)
    return True


def _all_written(sizes: dict[int, int], heartbeats: Path) -> bool:
    """Whether each file has grown, and not since the last call; `sizes` are those of that call."""
    before = dict(sizes)
    sizes |= {rank: _size(stacks_file(heartbeats, rank)) for rank in sizes}
    return all(0 < size == before[rank] for rank, size in sizes.items())


def _header(beat: Beat, state: str) -> str:
    waited = time.monotonic() - beat.at
    lines = [
        f"rank {beat.rank}, process {beat.pid}, state {state} {_STATES.get(state, '')}".rstrip(),
        f"in {beat.phase} after step {beat.step} for {waited:.1f} s, limit {beat.limit:.1f} s",
        f"waits in the kernel at: {_waiting_in(beat.pid)}",
    ]
    return "\n".join(lines) + "\n\n"


def _waiting_in(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/wchan").read_text(encoding="utf-8").strip() or "-"
    return "-"


def _stacks(heartbeats: Path, rank: int) -> str:
    with contextlib.suppress(OSError):
        found = stacks_file(heartbeats, rank).read_text(encoding="utf-8", errors="replace")
        if found:
            return found
    return "no stacks: the process did not answer\n"


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
