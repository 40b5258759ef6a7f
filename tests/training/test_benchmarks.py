"""What the benchmarks make of what they measured; what they measure is no test."""

from __future__ import annotations

import pytest

from benchmarks import data, rehearsal, resume
from benchmarks.figures import Figure, show
from benchmarks.marked_rank import PARTS
from tests.training import ranks


@pytest.mark.parametrize(
    ("value", "target", "end", "code"),
    [(1.05, 1.05, "ok", 0), (1.06, 1.05, "OVER", 1), (99.0, None, "99.00 x", 0)],
)
def test_a_figure_is_over_its_target_or_not(
    value: float, target: float | None, end: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show([Figure("a step", value, "x", target)]) == code
    assert capsys.readouterr().out.rstrip().endswith(end)


def test_a_good_figure_after_a_bad_one_does_not_hide_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert show([Figure("bad", 2, "x", 1), Figure("good", 1, "x", 1)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_what_was_not_measured_is_neither(capsys: pytest.CaptureFixture[str]) -> None:
    assert show([Figure("one GPU", None, "not measured: no GPU here")]) == 0
    assert capsys.readouterr().out.split() == ["one", "GPU", "-", *"not measured: no GPU here".split()]


def test_the_parts_of_a_resume_add_up_to_the_whole() -> None:
    ends = {part: 10.0 + (number + 1) ** 2 for number, part in enumerate(PARTS)}
    seconds = resume.parts(10.0, ends)
    assert seconds == {part: 2.0 * number + 1 for number, part in enumerate(PARTS)}
    whole, *each = resume.split(seconds)
    assert whole.value == 49.0 == sum(figure.value or 0 for figure in each)
    assert "imports (10%)" in each[2].name


def test_the_functions_that_are_marked_are_the_trainers() -> None:
    assert ranks.call(mark) == {}


def mark() -> dict[str, float]:
    from benchmarks.marked_rank import mark_the_others

    moments: dict[str, float] = {}
    mark_the_others(moments)  # an error where one has another name
    return moments


def test_the_shares_of_the_imports_are_by_package() -> None:
    times = {
        "torch": 20,
        "torch.nn": 30,
        "transformers.utils": 15,
        "training.loop": 5,
        "numpy": 20,
        "torchgen": 10,
    }
    assert resume.shares(times) == {"torch": 50, "transformers": 15, "training": 5, "other": 30}


def test_reading_ten_times_the_seeds_rate_takes_all_of_a_rank_that_reads_as_much() -> None:
    assert [figure.value for figure in data.loads(read=14_375, indexed=920_000)] == [100, 50]


def test_a_saves_figures_are_ratios() -> None:
    assert ranks.call(save_ratios) == [0.25, 0.5, 1.0]


def save_ratios() -> list[float | None]:
    from benchmarks.checkpoint import ratios

    seconds = {"stall": 1.0, "gathered": 4.0, "sharded": 2.0, "save": 5.0, "hashing": 0.05}
    return [figure.value for figure in ratios(seconds)]


def test_the_time_to_idle_is_from_the_first_nodes_launch() -> None:
    report = {
        "nodes": [{"spans": [{"start_s": 7.0}]}, {"spans": [{"start_s": 5.0}]}],
        "stages": [
            {"name": "deploy", "start_s": 0.0, "seconds": 4.0},
            {"name": "slurm", "start_s": 12.0, "seconds": 2.5},
        ],
    }
    assert rehearsal.create_to_idle(report) == 9.5


def test_a_reduced_rehearsal_measures_nothing() -> None:
    figure, *more = rehearsal.reported({"mode": "reduced", "seconds": 40.0, "nodes": [], "recovery": []})
    assert figure.value is None and "not measured" in figure.unit and not more


def test_a_part_that_cannot_run_is_said_and_the_others_go_on() -> None:
    code, out, err = ranks.call(run_two_parts)
    assert code == 2
    assert out.split() == ["fine", "1.00", "x"]
    assert "error: broken could not be run: Command 'false' returned non-zero exit status 1." in err
    assert "error: lost could not be run: a rank is gone" in err


def run_two_parts() -> tuple[int, str, str]:
    import contextlib
    import io
    import subprocess
    from collections.abc import Iterator

    from torch.multiprocessing.spawn import ProcessExitedException

    from benchmarks import run

    def broken() -> Iterator[Figure]:
        subprocess.run("false", check=True, capture_output=True, text=True)
        yield Figure("never", 1, "x")

    def lost() -> Iterator[Figure]:
        raise ProcessExitedException("a rank is gone", 1, 2, 3)

    run.PARTS.clear()
    run.PARTS.update({"broken": broken, "lost": lost, "fine": lambda: iter([Figure("fine", 1, "x")])})
    said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said[0]), contextlib.redirect_stderr(said[1]):
        code = run.main([])
    return code, said[0].getvalue(), said[1].getvalue()
