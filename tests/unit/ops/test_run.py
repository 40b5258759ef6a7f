"""What a rehearsal does after its stages, however they end: nothing of it stays, and the user is told."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.unit.ops.fakes import Screen
from unbroken.ops.errors import CannotRun
from unbroken.ops.interrupts import Interrupted
from unbroken.ops.rehearse import deployment, environment, places, reduced, reporting, run, sweep
from unbroken.ops.rehearse.context import Context
from unbroken.ops.rehearse.options import Options
from unbroken.ops.stages import StageFailed

CLUSTER = "name: small\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 2}\n"


@pytest.fixture
def rehearse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Screen]:
    """Rehearse with these stages; what was shown. Its folders are below tmp_path."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    monkeypatch.setattr(places, "base_folder", lambda: tmp_path / "state")
    monkeypatch.setattr(environment, "require", lambda *_: None)

    def begin(stages: Callable[[Context], None], keep: bool = False) -> Screen:
        screen = Screen()
        monkeypatch.setattr(reduced, "run", stages)
        options = Options(tmp_path / "cluster.yaml", out=tmp_path / "out", keep=keep, reduced=True)
        try:
            run.rehearse(options, screen)
        finally:
            assert list((tmp_path / "state").iterdir()) == []
        return screen

    return begin


def fail(context: Context) -> None:
    context.server.log.write_text("started\n")
    with context.stages.stage("aws", "AWS"):
        raise StageFailed("it did not start")


def test_a_failure_is_reported_and_the_servers_log_kept(
    rehearse: Callable[..., Screen], tmp_path: Path
) -> None:
    with pytest.raises(StageFailed, match="it did not start"):
        rehearse(fail)
    assert (tmp_path / "out" / "logs" / "server.log").read_text() == "started\n"
    assert (tmp_path / "out" / "report.html").exists()


def test_an_output_folder_that_fills_up_is_no_reason_to_leave_anything(
    rehearse: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(StageFailed, match="it did not start"):
        rehearse(fail)


def test_a_folder_that_cannot_be_written_at_the_start_is_one_sentence(
    rehearse: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "events.jsonl")

    monkeypatch.setattr(reporting, "begin", full)
    with pytest.raises(CannotRun, match=r"^events.jsonl: No space left on device$"):
        rehearse(fail)


@pytest.mark.parametrize("keep", [False, True])
def test_an_interrupt_leaves_nothing_also_where_it_was_to_be_kept(
    rehearse: Callable[..., Screen], keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "server_pid", lambda _: os.getpid())
    monkeypatch.setattr(sweep, "end_server", lambda _: None)

    def interrupted(context: Context) -> None:
        context.deployed = True
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        rehearse(interrupted, keep=keep)


def test_a_signal_while_cleaning_up_is_answered_and_the_cleaning_goes_on(
    rehearse: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sweep, "end_server", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    monkeypatch.setattr(Screen, "say", lambda self, text: shown.append(text))
    with pytest.raises(StageFailed, match="it did not start"):
        rehearse(fail)
    assert "cleaning up; this takes a few seconds" in shown


def test_two_rehearsals_do_not_write_to_one_folder(rehearse: Callable[..., Screen], tmp_path: Path) -> None:
    with places.alone_in(tmp_path / "out"), pytest.raises(CannotRun, match="another rehearsal is writing to"):
        run.rehearse(Options(tmp_path / "cluster.yaml", out=tmp_path / "out", reduced=True), Screen())
    with pytest.raises(StageFailed, match="it did not start"):
        rehearse(fail)


@pytest.mark.parametrize(
    ("keep", "ends"), [(False, ["train", "destroy", "look_for_leftovers", "stop_aws"]), (True, ["train"])]
)
def test_reduced_too_a_cluster_that_is_kept_is_not_destroyed(
    keep: bool, ends: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    names = ("start_aws", "bootstrap", "deploy", "destroy", "look_for_leftovers", "stop_aws")
    for module, name in [*((deployment, name) for name in names), (reduced, "train")]:
        monkeypatch.setattr(module, name, lambda _, name=name: done.append(name))
    reduced.run(cast(Context, SimpleNamespace(options=Options(Path("cluster.yaml"), keep=keep))))
    assert done == ["start_aws", "bootstrap", "deploy", *ends]
