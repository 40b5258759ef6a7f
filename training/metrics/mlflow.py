"""Figures for an MLflow server or file. One MLflow run for all attempts of a run directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import mlflow

from training.config import JobConfig
from training.files import replace_text
from training.metrics.record import Record

_STATUS = {"done": "FINISHED", "failed": "FAILED", "preempted": "KILLED"}


class Mlflow:
    """A run at mlflow_tracking_uri; its id is kept in run/mlflow.json, so that a restart goes on with it."""

    def __init__(self, config: JobConfig, run_directory: Path) -> None:
        self._client = mlflow.MlflowClient(tracking_uri=config.mlflow_tracking_uri)
        self._note = run_directory / "mlflow.json"
        self._run_id = self._known(config.mlflow_tracking_uri) or self._create(config)

    def step(self, record: Record, seconds: Mapping[str, float]) -> None:
        """See Sink."""
        time_ms = int(record.t * 1000)
        metrics = [mlflow.entities.Metric(k, v, time_ms, record.step) for k, v in record.numbers().items()]
        self._client.log_batch(self._run_id, metrics=metrics)

    def evaluated(self, step: int, loss: float) -> None:
        """See Sink."""
        self._client.log_metric(self._run_id, "validation_loss", loss, step=step)

    def close(self, status: str) -> None:
        """See Sink."""
        self._client.set_terminated(self._run_id, _STATUS.get(status, "KILLED"))

    def _known(self, uri: str | None) -> str | None:
        try:
            content = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if content["tracking_uri"] != uri:
            return None
        run_id = str(content["run_id"])
        self._client.update_run(run_id, status="RUNNING")
        return run_id

    def _create(self, config: JobConfig) -> str:
        name = config.mlflow_experiment or config.preset
        found = self._client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else self._client.create_experiment(name)
        run_id = str(self._client.create_run(experiment, run_name=self._note.parents[1].name).info.run_id)
        settings = {key: value for key, value in asdict(config).items() if value is not None}
        params = [mlflow.entities.Param(key, str(value)) for key, value in settings.items()]
        self._client.log_batch(run_id, params=params)
        content = {"tracking_uri": config.mlflow_tracking_uri, "run_id": run_id}
        replace_text(self._note, json.dumps(content) + "\n")
        return run_id
