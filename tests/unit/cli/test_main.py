"""The command line: errors become a sentence and an exit code, help is cheap, data and talk keep apart."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unbroken.cli import output
from unbroken.cli.exits import exit_code
from unbroken.ops.errors import CannotRun, CheckFailed

GOOD = "name: small\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 2}\n"
HEAVY = ("aws_cdk", "boto3", "botocore", "cfnlint", "jinja2", "ministack", "pydantic", "torch", "yaml")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    code = "from unbroken.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=60
    )


def raising(error: BaseException) -> Callable[[], object]:
    def verb() -> object:
        raise error

    return verb


@pytest.mark.parametrize(
    ("error", "code"),
    [(CheckFailed("no", "try"), 1), (CannotRun("no", "try"), 2), (KeyboardInterrupt(), 130)],
)
def test_errors_become_exit_codes(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(raising(error)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err in ("error: no\n\nhint: try\n", "interrupted\n")


@pytest.mark.parametrize("verb", ["check", "cost", "diff", "up", "down", "rehearse"])
def test_asked_for_json_a_wrong_file_is_answered_in_json(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("name: 5\n")
    done = run(verb, "--json", "--cluster", str(file))
    assert done.returncode == 2, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["schema_version"], answer["ok"]) == (1, False)
    assert "name" in [problem["path"] for problem in answer["problems"]]


def test_asked_for_json_an_error_is_answered_in_json_once(capsys: pytest.CaptureFixture[str]) -> None:
    output.as_json(True)
    assert exit_code(raising(CannotRun("no", "try"))) == 2
    answer = {"schema_version": 1, "ok": False, "error": "no", "hint": "try"}
    assert json.loads(capsys.readouterr().out) == answer
    output.as_json(True)
    output.data("{}")
    assert exit_code(raising(CheckFailed("no", "try"))) == 1
    assert capsys.readouterr().out == "{}\n"
    output.as_json(False)


def test_ctrl_c_ends_with_a_word() -> None:
    code = (
        "import os, signal; from unbroken.cli import main, start\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "@main.app.command()\n"
        "def pressed() -> None: os.kill(os.getpid(), signal.SIGINT)\n"
        "start.run()"
    )
    argv = [sys.executable, "-c", code, "pressed"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_missing_package_is_one_sentence() -> None:
    code = "import sys; sys.modules['yaml'] = None; from unbroken.cli import start; start.run()"
    argv = [sys.executable, "-c", code, "check"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    said = "error: the Python package 'yaml' is not installed\n\nhint: run `make setup`\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_does_not_take_a_file_is_one_sentence(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(raising(OSError(code, os.strerror(code), "/mnt/x"))) == 2
    assert capsys.readouterr().err.startswith(f"error: /mnt/x: {os.strerror(code)}\n\nhint: free some space")


def test_an_error_of_ours_is_not_hidden() -> None:
    with pytest.raises(FileNotFoundError):
        exit_code(raising(FileNotFoundError(errno.ENOENT, "of our own making", "x")))
    with pytest.raises(ZeroDivisionError):
        exit_code(raising(ZeroDivisionError()))


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from unbroken.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "rehearse" in done.stdout


def test_check_of_a_good_file(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(GOOD)
    done = run("check", "--cluster", str(file))
    assert done.returncode == 0, done.stderr
    assert "w                   2 x ml.p4de.24xlarge" in done.stdout
    assert done.stderr.endswith(f"{file}: ok\n")
    content = json.loads(run("check", "--cluster", str(file), "--json").stdout)
    assert (content["schema_version"], content["ok"], content["cluster"]["name"]) == (1, True, "small")


def test_check_of_a_bad_file_says_all_and_ends_with_2(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(GOOD.replace("p4de", "p4xx") + "storge: {}\n")
    done = run("check", "--cluster", str(file))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "storge" in done.stderr and "p4xx" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_fault_is_one_sentence() -> None:
    done = run("rehearse", "--fault", "flood")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'flood' is no fault\n\nhint: the faults are: worker,")


@pytest.mark.parametrize(
    "words", [("status",), ("connect", "controller"), ("exec", "controller", "--", "ls")]
)
def test_without_a_kept_rehearsal_the_way_to_one_is_named(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNBROKEN_STATE", str(tmp_path))
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr == "error: no rehearsal is up\n\nhint: start one: unbroken rehearse --keep\n"
