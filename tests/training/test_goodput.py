"""The ledger adds up to the wall clock, over a kill and a restart, and is shown as table and picture."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
from training.goodput.__main__ import as_text, main
from training.goodput.account import CATEGORIES, Account, read
from training.goodput.picture import draw, duration, shares
from training.ledger import NAME, Ledger


@pytest.fixture(scope="module")
def killed_and_resumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rank 0 is killed after step 6, the last checkpoint being step 4's; the second attempt ends well."""
    directory = write_job(tmp_path_factory.mktemp("killed"), validate_every=6)
    assert ranks.train(directory, 2, "slow_and_killed_at_step_7") != [0, 0]
    assert ranks.train(directory, 2, "slow_steps") == [0, 0]
    return directory


def test_the_categories_are_the_wall_clock(killed_and_resumed: Path) -> None:
    account = read(killed_and_resumed / "run" / NAME)
    born = [float(t) for t in re.findall(r"^born ([\d.]+)$", ranks.log(killed_and_resumed), re.M)]
    ended = [float(t) for t in re.findall(r"^ends ([\d.]+)$", ranks.log(killed_and_resumed), re.M)]
    wall = ended[-1] - born[0]
    assert sum(account.seconds.values()) == pytest.approx(wall, rel=0.01, abs=0.1)
    assert account.unexplained == pytest.approx(0.0, abs=0.001 * wall)
    assert account.damaged_lines == 0


def test_steps_after_the_checkpoint_were_done_for_nothing(killed_and_resumed: Path) -> None:
    seconds = read(killed_and_resumed / "run" / NAME).seconds
    steps = [ranks.metrics(killed_and_resumed, attempt) for attempt in (1, 2)]
    lost = sum(line["step_s"] for step, line in steps[0].items() if step > 4)
    kept = sum(line["step_s"] for step, line in {**steps[0], **steps[1]}.items())
    assert sorted(steps[0]) == list(range(1, 7)) and sorted(steps[1]) == list(range(5, 13))
    # reporting a step is part of it, and takes as long as the machine is busy
    assert lost * 0.95 < seconds["redone"] < lost * 1.3 + 0.3
    assert kept * 0.95 < seconds["step"] + seconds["data"] < kept * 1.3 + 0.5
    assert min(seconds[name] for name in ("start", "load", "save", "evaluate", "down")) > 0


def test_down_is_from_the_last_sign_to_the_next_start(killed_and_resumed: Path) -> None:
    account = read(killed_and_resumed / "run" / NAME)
    first, second = account.attempts
    assert account.seconds["down"] == pytest.approx(second.begin - first.end)
    assert (first.status, first.resumed, first.step) == (None, 0, 6)
    assert (second.status, second.resumed, second.step) == ("done", 4, 12)


def test_table_json_and_picture(killed_and_resumed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, picture = killed_and_resumed / "run", killed_and_resumed / "goodput.svg"
    assert main([str(run), "--svg", str(picture)]) == 0
    table = capsys.readouterr().out
    assert all(words in table for words in CATEGORIES.values())
    assert "attempt 1: steps 0 to 6" in table and "no last word" in table
    drawn = ET.parse(picture).getroot()  # noqa: S314 - our own
    assert len(drawn.findall("{http://www.w3.org/2000/svg}rect")) > 240
    assert main([str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["seconds"].values()) + found["unexplained_s"] == pytest.approx(found["wall_s"])


def test_no_ledger_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "hint:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        '{"attempt": 1, "event": "start"}',
        '{"attempt": 1, "event": "start", "t": "noon"}',
        '{"attempt": null, "event": "start", "t": 1}',
        '{"attempt": 1, "event": "start", "t": NaN}',
        '{"attempt": 1, "event": "resumed", "step": null}',
        '{"attempt": 1, "event": "spent", "from": 1, "to": 2, "step": 1}',
        '{"attempt": 1, "event": "spent", "from": 1, "to": 2, "step": 1, "seconds": [1]}',
        '{"attempt": 1, "event": "spent", "from": 1, "to": 2, "step": 1, "seconds": {"step": null}}',
        '{"attempt": 1, "event": "spent", "from": 1, "to": Infinity, "step": 1, "seconds": {"step": 1}}',
        "[1]",
        "7",
    ],
)
def test_a_line_that_lacks_what_the_sums_need_is_left_out(line: str, tmp_path: Path) -> None:
    path = tmp_path / NAME
    written(path, (1000.0, 50.0, 0, 10))
    path.write_text(path.read_text() + line + "\n")
    account = read(path)
    assert account.damaged_lines == 1 and account.seconds["step"] == 50.0 == account.wall
    assert "left out: 1" in as_text(account) and "</svg>" in draw(account, "job")


def test_a_clock_that_is_put_back_makes_no_part_larger_than_the_whole(tmp_path: Path) -> None:
    account = written(tmp_path / NAME, (1000.0, 50.0, 0, 10), (500.0, 30.0, 10, 20))
    assert account.goodput == 1.0 and account.whole == 80.0
    assert "part of 1 min 20 s" in as_text(account) and "</svg>" in draw(account, "job")


def test_a_ledger_without_an_attempt_and_a_picture_without_a_place_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / NAME).write_text("\n\x00\n")
    assert main([str(tmp_path)]) == 2
    assert "no attempt is recorded" in capsys.readouterr().err
    Ledger(tmp_path / NAME, 1, "", 1000.0)
    assert main([str(tmp_path), "--svg", str(tmp_path)]) == 2
    assert f"--svg {tmp_path}: Is a directory" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME]


@pytest.mark.parametrize(("columns", "longest"), [("40", 60), ("80", 80), ("200", 100)])
def test_bars_fit_the_terminal(
    columns: str, longest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    account = written(tmp_path / NAME, (1000.0, 50.0, 0, 10))
    assert max(map(len, as_text(account).splitlines()[:11])) <= longest


def test_whoever_reads_the_first_line_only_sees_no_error(tmp_path: Path) -> None:
    path = tmp_path / NAME
    for number in range(1, 3000):
        Ledger(path, number, "", 1000.0 + number)
    command = f"{sys.executable} -m training.goodput {tmp_path} | head -1"
    root = Path(__file__).parents[2]
    done = subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True, check=True)  # noqa: S602
    assert done.stdout.startswith("goodput 0.0%") and done.stderr == ""


def written(path: Path, *attempts: tuple[float, float, int, int]) -> Account:
    """The account of attempts of (begin, seconds in steps, resumed step, last step)."""
    for number, (begin, seconds, resumed, last) in enumerate(attempts, 1):
        ledger = Ledger(path, number, "", begin)
        ledger.resumed(resumed)
        ledger.spend("step", seconds)
        ledger.reached(last)
        ledger.write()
    return read(path)


def test_an_attempt_that_never_resumed_loses_no_steps(tmp_path: Path) -> None:
    path = tmp_path / NAME
    written(path, (1000.0, 50.0, 0, 10))
    Ledger(path, 2, "", 1060.0).end("failed")
    ledger = Ledger(path, 3, "", 1100.0)
    assert read(path).seconds["redone"] == 0.0
    ledger.resumed(5)
    account = read(path)
    assert account.seconds["redone"] == 50.0 and account.seconds["step"] == 0.0
    assert account.seconds["down"] == 50.0 == account.wall - 50.0


def test_clocks_that_disagree_are_said(tmp_path: Path) -> None:
    account = written(tmp_path / NAME, (1000.0, 50.0, 0, 10), (1040.0, 50.0, 10, 20))
    assert account.seconds["down"] == 0.0 and account.unexplained == -10.0
    assert "unexplained (clocks that disagree?)" in as_text(account)


def test_damaged_lines_are_counted_and_cost_no_other(tmp_path: Path) -> None:
    path = tmp_path / NAME
    written(path, (1000.0, 50.0, 0, 10))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"attempt": 1, "event"\n[]\n')
    account = read(path)
    assert account.damaged_lines == 2 and account.seconds["step"] == 50.0


def test_the_picture_shows_each_second_once(tmp_path: Path) -> None:
    account = written(tmp_path / NAME, (1000.0, 50.0, 0, 10), (1100.0, 31.0, 10, 20))
    columns = shares(account, 7)
    assert sum(column.get("step", 0.0) for column in columns) == pytest.approx(81.0)
    assert sum(column.get("down", 0.0) for column in columns) == pytest.approx(50.0)
    assert columns[3].keys() == {"down"}


def test_marks_of_many_attempts_do_not_hide_the_picture(tmp_path: Path) -> None:
    attempts = [(1000.0 + 20 * number, 10.0, number, number + 1) for number in range(300)]
    drawn = ET.fromstring(draw(written(tmp_path / NAME, *attempts), "job"))  # noqa: S314 - our own
    places = [float(line.get("x1", "")) for line in drawn.iter("{http://www.w3.org/2000/svg}line")]
    assert len(places) > 20 and min(b - a for a, b in itertools.pairwise(places)) > 23


def test_an_empty_ledger_is_drawn(tmp_path: Path) -> None:
    Ledger(tmp_path / NAME, 1, "", 1000.0)
    account = read(tmp_path / NAME)
    assert account.goodput == 0.0 and "</svg>" in draw(account, "a <job>") and "0.0%" in as_text(account)


def test_durations() -> None:
    assert [duration(s) for s in (12.34, 245, 7800)] == ["12.3 s", "4 min 5 s", "2 h 10 min"]


def test_a_line_cut_short_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text('{"attempt": 1, "ev')
    Ledger(path, 2, "", 1000.0)
    account = read(path)
    assert account.damaged_lines == 1 and [each.number for each in account.attempts] == [2]
