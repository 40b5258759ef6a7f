"""`unbroken init`: flags without a terminal, questions on one, and nothing written that is not right."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from unbroken import config
from unbroken.cli import init as verb
from unbroken.ops import init as making
from unbroken.ops.errors import CannotRun

REPOSITORY = Path(__file__).resolve().parents[3]
RUN = [sys.executable, "-c", "from unbroken.cli.main import run; run()", "init"]


def piped(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *flags], cwd=folder, input="", capture_output=True, text=True, check=False, timeout=60
    )


def test_flags_are_enough(tmp_path: Path) -> None:
    done = piped(tmp_path, "--name", "demo", "--type", "ml.p5.48xlarge", "--count", "8", "--json")
    assert (done.returncode, done.stderr) == (
        0,
        "wrote cluster.yaml; next: unbroken check --cluster cluster.yaml\n",
    )
    cluster = config.load(tmp_path / "cluster.yaml")
    assert (cluster.name, cluster.worker_groups[0].num_instances) == ("demo", 8)
    said = json.loads(done.stdout)
    assert (said["file"], said["from"], said["cluster"]["name"]) == ("cluster.yaml", "mathstral", "demo")
    assert "# " in (tmp_path / "cluster.yaml").read_text()


def init(folder: Path, **flags: object) -> None:
    """The verb without a terminal."""
    names = ("name", "region", "zone", "type", "count")
    given = {name: flags.get(name) for name in names}
    verb.init_file(
        given, str(flags.get("shape", "mathstral")), folder / "cluster.yaml", bool(flags.get("force"))
    )


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        ({}, "not given: --name"),
        ({"name": "demo", "region": "eu-west-1"}, "not given: --zone"),
        ({"region": "eu-west-1"}, "not given: --name and --zone"),
    ],
)
def test_what_nobody_can_be_asked_for_is_named(tmp_path: Path, flags: dict[str, str], missing: str) -> None:
    with pytest.raises(CannotRun, match=missing):
        init(tmp_path, **flags)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "rule", "hint"),
    [
        ({"type": "ml.p5.48xlarg"}, "is not an instance type", "did you mean ml.p5.48xlarge"),
        ({"type": "p4de.24xlarge"}, "is not an instance type", "did you mean ml.p4de.24xlarge"),
        ({"region": "us-west-22", "zone": "usw2-az4"}, "is not an AWS region", "did you mean us-west-2"),
        ({"zone": "us-west-2d"}, "is not an Availability Zone id", "use the id (usw2-az4)"),
        ({"count": 6759}, "is more than 6758", "use at most 6758"),
        ({"name": "a_b"}, "is not a cluster name", "use a name such as ml-cluster"),
    ],
)  # fmt: skip
def test_what_is_not_right_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: dict[str, object], rule: str, hint: str
) -> None:
    with pytest.raises(config.ConfigError) as caught:
        init(tmp_path, **{"name": "demo", **flags})
    (problem,) = caught.value.problems
    assert problem.rule.startswith(rule)
    assert problem.hint.startswith(hint)
    assert "was not written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_unless_forced(tmp_path: Path) -> None:
    out = tmp_path / "cluster.yaml"
    out.write_text("mine")
    with pytest.raises(CannotRun, match="is there already"):
        init(tmp_path, name="demo")
    assert out.read_text() == "mine"
    init(tmp_path, name="demo", force=True)
    assert config.load(out).name == "demo"


def test_answers_that_are_wrong_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = iter(
        ["a_b", "demo", "eu-west-1", "usw2-az4", "euw1-az1", "ml.p5.48xlarg", "ml.p5.48xlarge", "four", "4"]
    )
    asked: list[tuple[str, str | None]] = []

    def prompt(question: str, default: str | None, err: bool) -> str:
        asked.append((question, default))
        return next(replies)

    monkeypatch.setattr(typer, "prompt", prompt)
    text = making.example(REPOSITORY, "mathstral")
    answers = verb.interview(text, {"name": None, "region": None, "zone": None, "type": None, "count": None})
    assert vars(answers) == {
        "name": "demo", "region": "eu-west-1", "zone": "euw1-az1", "type": "ml.p5.48xlarge", "count": 4,
    }  # fmt: skip
    assert asked[0] == ("name of the cluster", "ml-cluster")
    assert ("zone id (where the capacity is)", None) in asked  # no zone of another region is offered
    assert next(replies, "none left") == "none left"


def test_flags_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, "prompt", lambda *_, **__: pytest.fail("asked"))
    given = {"name": "demo", "region": "us-west-2", "zone": "usw2-az1", "type": "ml.g5.xlarge", "count": 1}
    assert vars(verb.interview(making.example(REPOSITORY, "mathstral"), given)) == given


def on_a_terminal(folder: Path, keys: bytes) -> tuple[int, str]:
    """The exit code and what is on the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, RUN)  # noqa: S606
    os.write(terminal, keys)
    screen = b"".join(_read(terminal))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen.decode()


def _read(terminal: int) -> Iterator[bytes]:
    while select.select([terminal], [], [], 30)[0]:
        try:
            yield os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return


def test_questions_on_a_terminal(tmp_path: Path) -> None:
    code, screen = on_a_terminal(tmp_path, b"small\nmine\n\n\nml.t3.2xlarge\n3\n")
    assert code == 0, screen
    cluster = config.load(tmp_path / "cluster.yaml")
    group = cluster.worker_groups[0]
    assert (cluster.name, group.instance_type, group.num_instances) == ("mine", "ml.t3.2xlarge", 3)
    assert "wrote cluster.yaml" in screen


def test_a_terminal_that_is_closed(tmp_path: Path) -> None:
    code, screen = on_a_terminal(tmp_path, b"small\n\x04")
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert "no answer; nothing was written" in screen
