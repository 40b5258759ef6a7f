"""The event log: what is written is read back, whole lines only, from several writers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from unbroken.rehearsal.events import Event, EventLog, Follower, parse, read


def test_what_is_emitted_is_read(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: 12.3456)
    log.emit("fault", "power_off", "ip-10-0-0-1", step=7)
    assert read(log.path) == [Event(12.346, "fault", "power_off", "ip-10-0-0-1", {"step": 7})]


def test_a_missing_file_holds_no_events(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == []
    assert list(Follower(tmp_path / "none").new()) == []


def test_events_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    times = iter([5.0, 1.0])
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: next(times))
    log.emit("a", "late", "x")
    log.emit("a", "early", "x")
    assert [event.kind for event in read(log.path)] == ["early", "late"]


def test_a_line_being_written_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    whole = Event(1.0, "a", "b", "c").line()
    path.write_text(whole + whole[:10])
    follower = Follower(path)
    assert len(read(path)) == 1
    assert len(list(follower.new())) == 1
    path.write_text(whole + whole)
    assert len(list(follower.new())) == 1


def test_writers_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"

    def write(name: str) -> None:
        for number in range(50):
            EventLog(path).emit("a", "b", name, number=number, padding="x" * 2000)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read(path)) == 150


@pytest.mark.parametrize(
    "line", ["{}", '{"t": null, "source": "a", "kind": "b", "subject": "c"}', "not json"]
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        parse(line)
