"""Stages are told to the events and the display, whether they end well or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.ops.fakes import Screen
from unbroken.ops.stages import LOG_LINES, StageFailed, Stages
from unbroken.rehearsal.events import EventLog, read


def stages(tmp_path: Path, screen: Screen) -> Stages:
    times = iter([10.0, 12.5, 20.0, 21.0])
    return Stages(screen, EventLog(tmp_path / "events.jsonl").emit, clock=lambda: next(times))


def test_a_stage_that_ends_well(tmp_path: Path) -> None:
    screen = Screen()
    with stages(tmp_path, screen).stage("deploy", "cdk deploy") as stage:
        stage.detail("one")
        stage.note = "4 stacks"
    assert screen.lines == ["start cdk deploy", "detail one", "end cdk deploy True 2.5 4 stacks"]
    start, end = read(tmp_path / "events.jsonl")
    assert start.data == {"state": "start", "title": "cdk deploy"}
    assert end.data == {"state": "end", "seconds": 2.5, "ok": True}


def test_a_failure_gets_the_stages_name(tmp_path: Path) -> None:
    screen = Screen()
    with pytest.raises(StageFailed) as caught, stages(tmp_path, screen).stage("deploy", "cdk deploy"):
        raise StageFailed("no")
    assert caught.value.stage == "deploy"
    assert screen.lines[-1] == "end cdk deploy False 2.5"


def test_an_interrupt_ends_the_stage_too(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), stages(tmp_path, Screen()).stage("deploy", "cdk deploy"):
        raise KeyboardInterrupt
    assert read(tmp_path / "events.jsonl")[-1].data["ok"] is False


def test_a_failure_carries_the_last_lines_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("".join(f"line {n}\n\n" for n in range(50)))
    error = StageFailed("no", log=log)
    assert error.log_lines[-1] == "line 49"
    assert len(error.log_lines) == LOG_LINES


def test_a_log_that_is_missing_is_no_second_failure(tmp_path: Path) -> None:
    assert StageFailed("no", log=tmp_path / "none").log_lines == []
