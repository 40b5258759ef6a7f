"""A text file for the node exporter's textfile collector, replaced whole.

Its format: https://prometheus.io/docs/instrumenting/exposition_formats/. Stays after the run with
unbroken_training_running 0, until another job of this node begins; node_textfile_mtime_seconds tells its age.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from training.console import tell
from training.metrics.record import Record

_EVERY_SECONDS = 5.0
_KEPT_SECONDS = 24 * 3600.0  # far longer than any step of a job that is alive
PREFIX = "unbroken_training_"
_ENDED = re.compile(rf"^{PREFIX}running\{{.*\}} 0$", re.MULTILINE)
METRICS = {
    "running": ("gauge", "1 while the attempt runs, 0 once it has ended by itself"),
    "attempt": ("gauge", "starts of the ranks, from 1"),
    "step": ("gauge", "steps finished"),
    "tokens_total": ("counter", "tokens trained on since the beginning of the run"),
    "loss": ("gauge", "training loss, mean over the ranks"),
    "validation_loss": ("gauge", "loss on validation text"),
    "grad_norm": ("gauge", "norm of the whole gradient before clipping"),
    "learning_rate": ("gauge", "learning rate of the last step"),
    "tokens_per_second": ("gauge", "of all ranks together"),
    "tokens_per_second_per_gpu": ("gauge", "of one rank"),
    "mfu_ratio": ("gauge", "model arithmetic over the device's peak; absent where the peak is not known"),
    "data_wait_seconds": ("gauge", "longest wait of any rank for the data of the last step"),
    "step_seconds": ("gauge", "duration of the last step"),
    "gpu_memory_gib": ("gauge", "most GPU memory the first rank has held; absent without a GPU"),
    "slow_ranks": ("gauge", "ranks found slow by the last comparison"),
    "phase_seconds_total": ("counter", "seconds of this attempt by phase"),
}


class Textfile:
    """One job's file. Labels: job, the name of the job directory; job_id, Slurm's, where there is one."""

    def __init__(self, directory: Path, job: str, job_id: str) -> None:
        self._path = directory / f"unbroken_training_{job_id or job}.prom"
        self._labels = {"job": job} | ({"job_id": job_id} if job_id else {})
        self._values: dict[str, float] = {}
        self._seconds: Mapping[str, float] = {}
        self._written = float("-inf")
        self._is_told = False
        self._remove_others()

    def step(self, record: Record, seconds: Mapping[str, float]) -> None:
        """See Sink."""
        self._values |= {"running": 1, "attempt": record.attempt, "step": record.step, **_renamed(record)}
        self._seconds = seconds  # they go on counting, and the last file has the last of them
        if time.monotonic() - self._written >= _EVERY_SECONDS:
            self._write()

    def evaluated(self, step: int, loss: float) -> None:
        """See Sink."""
        self._values["validation_loss"] = loss

    def close(self, status: str) -> None:
        """See Sink."""
        self._values["running"] = 0
        self._write()

    def _remove_others(self) -> None:
        """Files of jobs that have ended, or were killed: the collector would report them for ever."""
        for path in self._path.parent.glob(f"{PREFIX}*.prom"):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                is_old = time.time() - path.stat().st_mtime > _KEPT_SECONDS
                if path != self._path and (is_old or _ENDED.search(path.read_text(encoding="utf-8"))):
                    path.unlink()

    def _write(self) -> None:
        self._written = time.monotonic()
        aside = self._path.with_suffix(f".{os.getpid()}")  # the collector reads *.prom only
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text("".join(self._lines()), encoding="utf-8")
            aside.replace(self._path)
        except OSError as error:  # a full disk, or somebody else's folder; tried again, and training goes on
            if not self._is_told:
                self._is_told = True
                tell(f"Prometheus gets no figures: {self._path}: {error.strerror}")

    def _lines(self) -> Iterator[str]:
        for name, (kind, words) in METRICS.items():
            samples = self._samples(name)
            if samples:
                yield f"# HELP {PREFIX}{name} {words}\n# TYPE {PREFIX}{name} {kind}\n"
            for labels, value in samples:
                yield f"{PREFIX}{name}{{{_label_text(labels)}}} {value!r}\n"

    def _samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        if name == "phase_seconds_total":
            return [({**self._labels, "phase": phase}, spent) for phase, spent in dict(self._seconds).items()]
        return [(self._labels, self._values[name])] if name in self._values else []


def _renamed(record: Record) -> dict[str, float]:
    """The record's figures by their names here: with units, as Prometheus wants them."""
    names = {
        "tokens": "tokens_total",
        "lr": "learning_rate",
        "tokens_per_s": "tokens_per_second",
        "tokens_per_s_per_gpu": "tokens_per_second_per_gpu",
        "mfu": "mfu_ratio",
        "data_wait_s": "data_wait_seconds",
        "step_s": "step_seconds",
        "memory_gib": "gpu_memory_gib",
    }
    found = {names.get(name, name): value for name, value in record.numbers().items()}
    return found | {"slow_ranks": float(len(record.slow_ranks))}


def _label_text(labels: Mapping[str, str]) -> str:
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    escaped = {name: value.translate(escapes) for name, value in labels.items()}
    return ",".join(f'{name}="{value}"' for name, value in escaped.items())
