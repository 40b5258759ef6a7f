"""The job file: every problem at once, and nothing but known settings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from training.config import JobConfig, JobConfigError, load, parse
from training.config.job import SHARED

ROOT = Path(__file__).parents[2]


def problems(**values: object) -> str:
    with pytest.raises(JobConfigError) as caught:
        parse(values)
    return str(caught.value)


def test_the_defaults_are_valid() -> None:
    assert parse({}) == JobConfig()


def test_the_settings_that_a_resume_must_share_are_documented() -> None:
    page = (ROOT / "docs/reference/job.md").read_text()
    _, begin, rest = page.partition("may not change then: ")
    listed, end, _ = rest.partition(" and `seed`")
    assert begin and end
    sizes = {name for name in SHARED if name.endswith("_size") or name.startswith("num_")}
    assert set(re.findall(r"`(\w+)`", listed)) == set(SHARED) - sizes - {"seed"}


def test_all_problems_come_at_once() -> None:
    said = problems(learnig_rate=1, num_steps="x", keep_checkpoints=1, beta1=1.5, preset="huge")
    for part in (
        "did you mean learning_rate?",
        "num_steps: 'x'",
        "too few",
        "beta1: 1.5",
        "mathstral-7b, llama3-8b",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"num_steps": True}, "not a whole number"),
        ({"num_steps": 1.5}, "not a whole number"),
        ({"activation_checkpointing": 1}, "write true or false; or use one of full, selective"),
        ({"reshard_after_forward": 1}, "not true or false"),
        ({"learning_rate": "fast"}, "not a number"),
        ({"learning_rate": float("nan")}, "not above 0"),
        ({"learning_rate": float("inf")}, "not a finite number"),
        ({"warmup_fraction": 0.6, "plateau_fraction": 0.6}, "exceed 1"),
        ({"min_learning_rate": 1.0}, "above learning_rate"),
        ({"preset": "tiny", "context_length": 4096}, "longer than the model takes"),
        ({"dataset": "a b"}, "neither a path nor a name on the hub"),
        ({"tokenizer": "a/b/c"}, "neither a path nor a name on the hub"),
        ({"dataset": "./text", "dataset_config": "en"}, "has no meaning with ./text"),
        ({"dataset": "shipped", "dataset_split": "test"}, "has no meaning with shipped"),
        ({"validate_every": -1}, "below 0"),
        ({"seed": 2**31}, "too large"),
        ({"init_timeout_seconds": 10**20}, "give at most 2147483647"),
        ({"weights": ""}, "empty"),
        ({"dataset": "./a\0b"}, "cannot be seen"),
        ({"text_column": "te\u200bxt"}, "cannot be seen"),
        ({"checkpoint_directory": "~nobody-of-this-name/x"}, "~nobody-of-this-name is nobody's home"),
    ],
)
def test_each_rule(values: dict[str, object], part: str) -> None:
    assert part in problems(**values)


def test_values_of_the_command_line_go_over_the_files() -> None:
    config = parse({"num_steps": 3, "seed": 1}, overrides=["num_steps=4", "rope_theta=1e6", "weights=a=b"])
    assert (config.num_steps, config.seed, config.rope_theta, config.weights) == (4, 1, 1e6, "a=b")


def test_problems_name_the_place_they_come_from() -> None:
    with pytest.raises(JobConfigError) as caught:
        parse({"sede": 1}, "job.yaml", ["num_steps=x", "num_steps"])
    said = str(caught.value)
    assert "job.yaml: sede: not a setting" in said
    assert "command line: num_steps: 'x' is not a whole number" in said
    assert "command line: num_steps: not key=value" in said


def test_numbers_that_yaml_reads_as_text_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("learning_rate: 1e-4\n")
    assert load(tmp_path / "job.yaml").learning_rate == 1e-4


def test_a_time_needs_no_quotes(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("stop_at: 2026-01-31T18:00:00+00:00\n")
    assert load(tmp_path / "job.yaml").stop_at == "2026-01-31T18:00:00+00:00"
    assert parse({}, overrides=["stop_at=2026-01-31T18:00:00Z"]).stop_at == "2026-01-31T18:00:00Z"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "No such file"),
        ("a: [", "file:"),
        ("- a\n", "not a mapping"),
        ("", "not a mapping"),
        ("seed: 1\nnum_steps: 3\nseed: 2\n", "seed is given twice .* line 3"),
        ("seed: 1" + "0" * 5000, "digits"),
        ("preset: !!python/name:os.system", "could not determine a constructor"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str | None, part: str) -> None:
    if text is not None:
        (tmp_path / "job.yaml").write_text(text)
    with pytest.raises(JobConfigError, match=part):
        load(tmp_path / "job.yaml")


def a_rank(directory: Path, text: str, *overrides: str, **environment: str) -> tuple[int, str]:
    """Exit code and words of a rank in a process of its own, since it takes signals over."""
    (directory / "job.yaml").write_text(text)
    command = [sys.executable, "-m", "training.pretrain", "--config", str(directory / "job.yaml"), *overrides]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_a_rank_refuses_a_wrong_file_with_2(tmp_path: Path) -> None:
    code, said = a_rank(tmp_path, "stepps: 3\n", "seed=x", RANK="0", MASTER_ADDR="127.0.0.1")
    assert code == 2
    assert "stepps: not a setting of a job" in said
    assert "command line: seed: 'x' is not a whole number" in said


def test_a_rank_started_by_hand_says_how(tmp_path: Path) -> None:
    code, said = a_rank(tmp_path, "preset: tiny\ncontext_length: 64\n")
    assert code == 2
    assert "hint: start it with torchrun" in said
