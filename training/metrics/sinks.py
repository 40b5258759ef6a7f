"""Places that figures go to besides run/metrics.jsonl, opened on the first rank when they are asked for."""

from __future__ import annotations

import importlib.util
import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from training.config import JobConfig
from training.errors import JobError
from training.metrics.record import Record
from training.runstate import RunState

_ARN = re.compile(r"arn:aws[a-z-]*:sagemaker:")
_WAITING = 1_000  # records; a place that is this far behind is not waited for
_CLOSE_SECONDS = 10.0


class SinkError(JobError):
    """A place for figures that cannot be used; said without a traceback."""


class Sink(Protocol):
    """A place that takes figures."""

    def step(self, record: Record, seconds: Mapping[str, float]) -> None:
        """A step's figures, and the seconds of this attempt in each phase."""

    def evaluated(self, step: int, loss: float) -> None:
        """The loss on validation text after a step."""

    def close(self, status: str) -> None:
        """The attempt ends."""


def check(config: JobConfig) -> None:
    """Whether the packages for the places asked for are there, without importing them. Raises SinkError."""
    needed = {}
    if config.tensorboard_directory is not None:
        needed["tensorboard"] = ("tensorboard_directory", "tensorboard")
    if config.mlflow_tracking_uri is not None:
        needed["mlflow"] = ("mlflow_tracking_uri", "mlflow")
        if config.mlflow_tracking_uri.startswith("sqlite:"):
            needed["sqlalchemy"] = ("mlflow_tracking_uri, which is a database,", "mlflow")
        if _ARN.match(config.mlflow_tracking_uri):
            needed["sagemaker_mlflow"] = ("mlflow_tracking_uri, which is an ARN,", "sagemaker-mlflow")
    for module, (setting, package) in needed.items():
        if importlib.util.find_spec(module) is None:
            hint = f"install {package} into the job's environment, or remove the setting"
            raise SinkError(f"{setting} needs the package {package}, which is missing", hint, final=True)


def open_sinks(config: JobConfig, directory: Path, state: RunState) -> list[Sink]:
    """What the settings ask for; call it where the first step is near. Raises SinkError."""
    check(config)
    sinks: list[Sink] = []
    textfile = config.prometheus_directory or os.environ.get("UNBROKEN_TEXTFILE_DIRECTORY")
    if textfile:
        from training.metrics.prometheus import Textfile

        place = Path(textfile)
        sinks.append(Background(lambda: Textfile(place, directory.name, state.job_id), "Prometheus"))
    if config.tensorboard_directory is not None:
        from training.metrics.tensorboard import TensorBoard

        path = directory / config.tensorboard_directory
        sinks.append(Background(lambda: TensorBoard(path, state.step), "TensorBoard"))
    if config.mlflow_tracking_uri is not None:
        from training.metrics.mlflow import Mlflow

        sinks.append(Background(lambda: Mlflow(config, directory / "run"), "MLflow"))
    return sinks


class Background:
    """Hands figures to a slow place on a thread. A place that fails is given up, and the run goes on."""

    def __init__(self, opening: Callable[[], Sink], name: str) -> None:
        self._opening = opening
        self._name = name
        self._work: queue.Queue[Callable[[Sink], None] | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)
        self._thread.start()

    def step(self, record: Record, seconds: Mapping[str, float]) -> None:
        """See Sink."""
        self._put(lambda sink: sink.step(record, seconds))

    def evaluated(self, step: int, loss: float) -> None:
        """See Sink."""
        self._put(lambda sink: sink.evaluated(step, loss))

    def close(self, status: str) -> None:
        """See Sink. Waits for what is under way, within limits."""
        self._put(lambda sink: sink.close(status))
        self._put(None)
        self._thread.join(_CLOSE_SECONDS)

    def _put(self, work: Callable[[Sink], None] | None) -> None:
        try:
            self._work.put_nowait(work)
        except queue.Full:  # it hangs: figures are lost there, none of them in metrics.jsonl
            return

    def _run(self) -> None:
        try:
            sink = self._opening()
            while (work := self._work.get()) is not None:
                work(sink)
        except Exception as error:  # whatever a client or server does, training goes on
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"{self._name} gets no more figures: {text}", file=sys.stderr, flush=True)
