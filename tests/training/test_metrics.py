"""Where a run's figures go: JSON lines, a text file for Prometheus, TensorBoard, MLflow."""

from __future__ import annotations

import json
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
from training import runstate
from training.config import JobConfig
from training.data import check
from training.exchange import Answer
from training.metrics import sinks
from training.metrics.prometheus import METRICS, PREFIX, Textfile
from training.metrics.record import Record
from training.phases import Limits, Phases
from training.reporter import Rates, Reporter, Work
from training.runstate import RunState

_SAMPLE = re.compile(r'unbroken_training_(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} (\S+)')


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "attempt": 2,
        "step": 7,
        "tokens": 1792,
        "loss": 2.5,
        "grad_norm": 1.25,
        "lr": 1e-4,
        "tokens_per_s": 512.0,
        "tokens_per_s_per_gpu": 256.0,
        "mfu": None,
        "data_wait_s": 0.25,
        "step_s": 0.5,
        "memory_gib": None,
        "slow_ranks": [1],
        "t": 1000.0,
    }
    return Record(**values | changes)


def samples(path: Path) -> dict[str, dict[str, str]]:
    """Value by labels by name; every line that is not a comment must be one."""
    found: dict[str, dict[str, str]] = {}
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            match = _SAMPLE.fullmatch(line)
            assert match, line
            found.setdefault(match[1], {})[match[2]] = match[3]
    return found


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that writes for the collector and for TensorBoard, stopped and begun again."""
    directory = write_job(tmp_path_factory.mktemp("observed"), tensorboard_directory="board", num_steps=8)
    env = {"UNBROKEN_TEXTFILE_DIRECTORY": str(directory / "textfile"), "SLURM_JOB_ID": "17"}
    assert ranks.train(directory, 2, "told_to_stop_while_evaluating", env=env) == [3, 3]
    assert ranks.train(directory, 2, env=env) == [0, 0]
    return directory


def test_the_collector_reads_the_last_step(observed: Path) -> None:
    (path,) = (observed / "textfile").iterdir()
    assert path.name == "unbroken_training_17.prom"
    found, labels = samples(path), f'job="{observed.name}",job_id="17"'
    last = ranks.metrics(observed, 2)[8]
    assert float(found["loss"][labels]) == last["loss"] and float(found["step"][labels]) == 8
    assert float(found["running"][labels]) == 0 and float(found["attempt"][labels]) == 2
    assert {f'{labels},phase="{phase}"' for phase in ("start", "step", "save")} <= set(
        found["phase_seconds_total"]
    )
    assert "mfu_ratio" not in found, "not known on a CPU"


def read_events(directory: Path) -> dict[str, list[int]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]  # it has no types

    events = EventAccumulator(str(directory))
    events.Reload()
    return {tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_has_every_step_of_both_attempts_once(observed: Path) -> None:
    found = ranks.call(read_events, observed / "board")
    assert found["training/loss"] == list(range(1, 9))
    assert found["validation/loss"] == [0] and "training/mfu" not in found


def test_names_have_units_and_one_type_each(tmp_path: Path) -> None:
    textfile = Textfile(tmp_path, 'my "job"', "")
    textfile.step(record(mfu=0.4, memory_gib=70.5), {"step": 12.5})
    textfile.evaluated(7, 2.25)
    textfile.close("done")
    text = (tmp_path / 'unbroken_training_my "job".prom').read_text()
    assert [re.findall(rf"^# TYPE {PREFIX}{name} (\w+)$", text, re.M) for name in METRICS] == [
        [kind] for kind, _ in METRICS.values()
    ]
    assert set(samples(tmp_path / 'unbroken_training_my "job".prom')) == set(METRICS)
    assert 'job="my \\"job\\""' in text and f"{PREFIX}mfu_ratio" in text
    assert [path.suffix for path in tmp_path.iterdir()] == [".prom"], "nothing half written is left"


def test_a_folder_that_takes_nothing_is_said_once_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.metrics.prometheus._EVERY_SECONDS", 0.0)
    (tmp_path / "taken").touch()
    textfile = Textfile(tmp_path / "taken", "job", "")
    textfile.step(record(), {})
    textfile.step(record(step=8), {})
    assert capsys.readouterr().err.count("Prometheus gets no figures: ") == 1
    (tmp_path / "taken").unlink()
    textfile.close("failed")
    assert samples(tmp_path / "taken" / "unbroken_training_job.prom")["step"] == {'job="job"': "8"}


def test_the_files_of_jobs_that_have_ended_are_removed(tmp_path: Path) -> None:
    names = ("ended", "killed", "alive", "this")
    for name in names:
        Textfile(tmp_path, name, "").step(record(), {})
    paths = {name: tmp_path / f"unbroken_training_{name}.prom" for name in names}
    for name in ("ended", "this"):
        paths[name].write_text(
            paths[name].read_text().replace('running{job="' + name + '"} 1', 'running{job="' + name + '"} 0')
        )
    os.utime(paths["killed"], (0, 0))
    other = tmp_path / "node.prom"
    other.touch()
    Textfile(tmp_path, "this", "")
    assert set(tmp_path.iterdir()) == {paths["alive"], paths["this"], other}


def test_the_collectors_disk_is_written_on_a_thread(tmp_path: Path) -> None:
    state = RunState(status="running")
    (sink,) = sinks.open_sinks(JobConfig(prometheus_directory=str(tmp_path)), tmp_path, state)
    assert isinstance(sink, sinks.Background)
    sink.step(record(), {})
    sink.close("done")
    assert (tmp_path / f"unbroken_training_{tmp_path.name}.prom").exists()


def test_an_attempt_that_fails_by_itself_is_said_to_have_ended(tmp_path: Path) -> None:
    directory = write_job(tmp_path, validate_every=0)
    env = {"UNBROKEN_TEXTFILE_DIRECTORY": str(directory / "textfile"), "SLURM_JOB_ID": "17"}
    assert ranks.train(directory, 2, "not_a_number_on_rank_1", env=env) == [1, 1]
    found = samples(directory / "textfile" / "unbroken_training_17.prom")
    assert set(found["running"].values()) == {"0"} and set(found["step"].values()) == {"6"}


def test_the_file_is_not_written_at_every_step(tmp_path: Path) -> None:
    textfile = Textfile(tmp_path, "job", "")
    textfile.step(record(), {})
    textfile.step(record(step=8), {})
    assert samples(tmp_path / "unbroken_training_job.prom")["step"] == {'job="job"': "7"}


@pytest.mark.parametrize(
    ("setting", "missing"),
    [
        ({"mlflow_tracking_uri": "https://mlflow.example"}, "mlflow"),
        ({"mlflow_tracking_uri": "arn:aws:sagemaker:us-west-2:1:mlflow-app/a"}, "sagemaker_mlflow"),
        ({"tensorboard_directory": "board"}, "tensorboard"),
    ],
)
def test_a_missing_package_is_said_before_the_ranks_meet(
    setting: dict[str, Any], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else object())
    with pytest.raises(sinks.SinkError, match=f"needs the package {missing.replace('_', '-')}, which"):
        sinks.check(JobConfig(**setting))
    sinks.check(JobConfig())


def test_a_database_needs_the_whole_of_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "sqlalchemy" else object())
    with pytest.raises(sinks.SinkError, match="a database, needs the package mlflow, which"):
        sinks.check(JobConfig(mlflow_tracking_uri="sqlite:///runs.db"))
    sinks.check(JobConfig(mlflow_tracking_uri="https://mlflow.example"))


def test_a_missing_package_ends_a_rank_with_2(tmp_path: Path) -> None:
    directory = write_job(tmp_path, mlflow_tracking_uri="sqlite:///runs.db")
    assert ranks.train(directory, 1) == [2]
    assert "hint: install mlflow into the job's environment" in ranks.log(directory)
    assert not (directory / "run").exists()


def test_a_missing_package_is_told_before_any_rank_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = write_job(tmp_path, mlflow_tracking_uri="sqlite:///runs.db")
    assert check.main(["--config", str(directory / "job.yaml")]) == 2
    assert "needs the package mlflow, which is missing" in capsys.readouterr().err
    assert check.main(["--config", str(directory / "job.yaml"), "mlflow_tracking_uri=null"]) == 0


def test_a_launcher_learns_that_a_missing_package_stays_missing(tmp_path: Path) -> None:
    directory = write_job(tmp_path, mlflow_tracking_uri="sqlite:///runs.db")
    (directory / "run").mkdir()
    assert ranks.train(directory, 2) == [2, 2]
    assert "needs the package mlflow, which is missing" in str(runstate.final_failure(directory / "run"))


class Client:
    """Stands in for mlflow's client; refuses what it does not know."""

    def __init__(self, tracking_uri: str) -> None:
        self.said: list[tuple[Any, ...]] = []

    def get_experiment_by_name(self, name: str) -> None:
        self.said.append(("get_experiment_by_name", name))

    def create_experiment(self, name: str) -> str:
        return f"experiment {name}"

    def create_run(self, experiment: str, run_name: str) -> Any:
        self.said.append(("create_run", experiment, run_name))
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r1"))

    def update_run(self, run_id: str, status: str) -> None:
        self.said.append(("update_run", run_id, status))

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        self.said += [("metric", run_id, *metric) for metric in metrics]
        self.said += [("param", run_id, *param) for param in params]

    def log_metric(self, run_id: str, key: str, value: float, step: int) -> None:
        self.said.append(("log_metric", run_id, key, value, step))

    def set_terminated(self, run_id: str, status: str) -> None:
        self.said.append(("set_terminated", run_id, status))


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = types.ModuleType("mlflow")
    module.MlflowClient = Client
    module.entities = types.SimpleNamespace(Metric=lambda *a: a, Param=lambda *a: a)
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.delitem(sys.modules, "training.metrics.mlflow", raising=False)
    import training.metrics.mlflow as ours

    return ours


def test_a_restart_goes_on_with_the_same_mlflow_run(mlflow: Any, tmp_path: Path) -> None:
    config = JobConfig(mlflow_tracking_uri="sqlite:///runs.db", preset="tiny")
    (tmp_path / "job" / "run").mkdir(parents=True)
    first = mlflow.Mlflow(config, tmp_path / "job" / "run")
    assert ("create_run", "experiment tiny", "job") in first._client.said
    assert ("param", "r1", "preset", "tiny") in first._client.said
    first.close("preempted")
    assert first._client.said[-1] == ("set_terminated", "r1", "KILLED")
    second = mlflow.Mlflow(config, tmp_path / "job" / "run")
    assert second._client.said == [("update_run", "r1", "RUNNING")]
    second.step(record(), {})
    assert ("metric", "r1", "loss", 2.5, 1_000_000, 7) in second._client.said
    other = mlflow.Mlflow(JobConfig(mlflow_tracking_uri="sqlite:///other.db"), tmp_path / "job" / "run")
    assert other._client.said[0][0] == "get_experiment_by_name", "another server knows nothing of the run"


def test_a_place_that_fails_does_not_end_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        def step(self, record: Record, seconds: Any) -> None:
            raise ConnectionError("no route to the server\nmore")

    background = sinks.Background(Broken, "MLflow")  # type: ignore[arg-type]  # only what is called
    for _ in range(sinks._WAITING + 2):
        background.step(record(), {})
    background.close("done")
    said = capsys.readouterr().err
    assert said == "MLflow gets no more figures: ConnectionError: no route to the server\n"


def reported(tmp_path: Path, peak: float | None) -> tuple[dict[str, Any], list[str]]:
    """The metrics' line and the log's of one step."""
    lines: list[str] = []
    answer = Answer(3, 12.0, [2.0, 3.0], 1.5, [0, 0], [0.0, 0.0], [0.1, 0.2], [300.0, 500.0])
    rates = Rates(2, 1024, lambda length: 6e9 + 1e6 * length, peak)
    phases = Phases(Limits(1, 1, 1))
    reporter = Reporter(tmp_path, 1, rates, 1, 0, phases, lines.append, True, lambda: 70.0)
    reporter.expect(Work(3, 12 * 1024, 4, 1e-4, 10.0))
    reporter.hear([answer])
    return json.loads((tmp_path / "metrics.jsonl").read_text()), lines


def test_utilisation_is_the_models_arithmetic_over_the_devices_peak(tmp_path: Path) -> None:
    line, said = reported(tmp_path, 312e12)
    assert line["tokens_per_s"] == 4 * 1024 / 2 and line["tokens_per_s_per_gpu"] == 1024
    assert line["mfu"] == pytest.approx((6e9 + 1e6 * 400) * 1024 / 312e12), "documents of 400 tokens"
    assert (line["loss"], line["data_wait_s"], line["memory_gib"]) == (2.5, 0.2, 70.0)
    assert said == [
        "Batch 2 Loss: 2.50000, Speed: 2.00 samples/sec, lr: 0.000100",
        "Step 3: 1024 tokens/s per GPU, MFU 2.1%, data wait 0.200 s, gradient norm 1.5000",
    ]


def test_where_the_peak_is_not_known_there_is_no_utilisation(tmp_path: Path) -> None:
    line, said = reported(tmp_path, None)
    assert line["mfu"] is None and "MFU unknown" in said[1]


def test_every_evaluation_has_a_line(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / "run" / "validation.jsonl").read_text().splitlines()]
    assert [(line["attempt"], line["step"]) for line in lines] == [(1, 0), (1, 6), (1, 12)]
    said = [f"Batch {line['step'] - 1} Validation loss: {line['loss']:.5f}" for line in lines[1:]]
    assert [line for line in ranks.log(finished).splitlines() if "Validation loss" in line] == said


def test_a_step_takes_as_long_on_a_late_device_after_a_save_and_an_evaluation(tmp_path: Path) -> None:
    """Each takes a second there, a tenth more where it begins with nothing under way."""
    directory = write_job(tmp_path, validate_every=3)
    assert ranks.train(directory, 1, "a_late_device") == [0], ranks.log(directory)
    found = {step: line["step_s"] for step, line in ranks.metrics(directory).items()}
    drained = [1, 4, 5, 7, 9, 10]  # after the start, an evaluation or a save
    assert found == pytest.approx({step: 1.1 if step in drained else 1.0 for step in range(1, 13)})


def test_utilisation_counts_attention_inside_documents_only() -> None:
    import numpy as np

    from training.data.batch import Batch

    ids = np.zeros((1, 9), dtype=np.int64)
    assert Batch(ids, None).document_length == 8
    positions = np.array([[0, 1, 2, 3, 4, 5, 0, 1]])
    assert Batch(ids, positions).document_length == (6 * 6 + 2 * 2) / 8
