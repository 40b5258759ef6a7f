"""What is printed: tables, colour only for terminals, progress as lines, the summary."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.unit.rehearsal import synthetic
from unbroken.cli import output, progress, summary
from unbroken.rehearsal.report import build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"NO_COLOR": ""}, {"TERM": "dumb"}])
def test_colour_can_be_refused(env: dict[str, str]) -> None:
    assert output.colour_wanted(Terminal(), {})
    assert not output.colour_wanted(Terminal(), env)
    assert not output.colour_wanted(io.StringIO(), {})


def test_tables_are_aligned() -> None:
    assert output.table([("a", "bb"), ("ccc", "d")]) == "a    bb\nccc  d"
    assert output.table([]) == ""


def test_progress_in_a_log_is_a_line_a_thing() -> None:
    stream = io.StringIO()
    with progress.Plain(stream, clock=lambda: "12:00:00") as shown:
        shown.stage_started("Deploy")
        shown.detail("one")
        shown.stage_ended("Deploy", True, 1.25, "4 stacks")
        shown.stage_ended("Destroy", False, 1.0, "")
    assert stream.getvalue().splitlines() == [
        "12:00:00  Deploy ...",
        "12:00:00    one",
        "12:00:00  Deploy: ok (1.2 s) 4 stacks",
        "12:00:00  Destroy: FAILED (1.0 s)",
    ]


def test_a_reader_that_went_away_does_not_stop_the_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    progress.Plain(Gone()).say("x")
    progress.Moving(Gone()).say("x")
    monkeypatch.setattr("sys.stderr", Gone())
    output.talk("x")


def test_progress_on_a_terminal_keeps_finished_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    shown = progress.Moving(stream, clock=lambda: 0.0)
    shown.stage_started("Deploy")
    shown.detail("one")
    shown.stage_ended("Deploy", True, 1.25, "4 stacks")
    shown.close()
    lines = [line.replace("\x1b[K", "") for line in stream.getvalue().replace("\n", "\r").split("\r") if line]
    assert f"  ...     {'Deploy':34}    0.0 s  one" in lines
    assert f"  ok      {'Deploy':34}    1.2 s  4 stacks" in lines
    assert lines[-1] == ""


def test_the_summary_says_what_happened() -> None:
    report = build(synthetic.events(), synthetic.metrics())
    text = "\n".join(summary.lines(report, Path("out"), io.StringIO()))
    assert text.splitlines()[0] == "Rehearsal passed in 123 s"
    assert "seen +1.0 s, marked +1.3 s, replaced +9.8 s, training again +21.0 s" in text
    assert "2 steps done again, same job id" in text
    assert "0 of 71 behaviours verified on AWS" in text
    assert "left behind  nothing" in text


def test_kinds_are_named_once() -> None:
    kept = ["VPC vpc-1", "file system fs-1", "subnet subnet-1", "subnet subnet-2"]
    assert summary.kinds(kept) == ["file system", "VPC", "subnet"]
