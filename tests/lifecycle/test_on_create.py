"""The shim: run by bash with a fake Python, sourced without effect, and fed damaged bundles."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from unbroken import render

SHIM = Path(__file__).parents[2] / "lifecycle_assets/on_create.sh"
# Stands for a Python: answers the version question, then says where it was started and with what.
FAKE_PYTHON = """#!/bin/sh
case "$*" in *version_info*) exit {version_answer} ;; esac
echo "ran $*"
echo '{{"step": "70-accounting", "result": "failed", "exit_code": 7}}'
exit {code}
"""


@dataclass
class Shim:
    """A bundle where HyperPod unpacked it, a root to run it on, and the programs it finds."""

    bundle: Path
    root: Path
    programs: Path
    content_hash: str
    waits: bool = False
    """Whether it waits as on a real node."""

    def fake(self, name: str, script: str) -> None:
        (self.programs / name).unlink(missing_ok=True)
        (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.programs / name).chmod(0o755)

    def python(self, name: str = "python3", *, version_answer: int = 0, code: int = 0) -> None:
        path = self.programs / name
        path.write_text(FAKE_PYTHON.format(version_answer=version_answer, code=code))
        path.chmod(0o755)

    def run(self, script: Path | None = None, **kwargs: object) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.programs), "UNBROKEN_ROOT": str(self.root)}
        environment |= {} if self.waits else {"UNBROKEN_FLUSH_SECONDS": "0"}
        # the overloads cannot see through **options
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            ["/bin/bash", str(script or "on_create.sh")],
            **{"cwd": self.bundle, "env": environment, "text": True, "capture_output": True} | kwargs,
        )

    @property
    def log(self) -> Path:
        return self.root / "var/log/provision/provisioning.log"

    @property
    def home(self) -> Path:
        return self.root / "opt/unbroken" / self.content_hash


@pytest.fixture
def shim(tmp_path: Path, bundle: render.Bundle) -> Shim:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in "cat cp cut dirname ln mkdir mv rm sha256sum sleep sync tee touch".split():
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    unpacked = tmp_path / "tmp/sagemaker-bucket/lifecycle" / bundle.content_hash
    shutil.copytree(bundle.path, unpacked)
    (tmp_path / "root").mkdir()
    return Shim(unpacked, tmp_path / "root", programs, bundle.content_hash)


def test_it_is_short_and_sourcing_it_does_nothing(tmp_path: Path) -> None:
    assert len(SHIM.read_text().splitlines()) <= 60
    done = subprocess.run(
        ["/bin/bash", "-c", f". {SHIM}; declare -F main; ls -A"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "main\n"


def test_it_runs_the_steps_from_where_they_stay(shim: Shim) -> None:
    shim.python()
    done = shim.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == f"ran -I -S -B {shim.home}"
    assert (shim.home / "deployed.json").is_file() and (shim.home / "unbroken_node/main.py").is_file()
    assert shim.home.parent.joinpath("current").readlink() == Path(shim.content_hash)


def test_the_log_has_what_stdout_has(shim: Shim) -> None:
    shim.python()
    assert shim.run().stdout == shim.log.read_text()


def test_a_caller_that_writes_the_log_itself_gets_no_second_copy(shim: Shim) -> None:
    shim.python(code=7)
    shim.log.parent.mkdir(parents=True)
    with shim.log.open("a") as log:
        done = shim.run(capture_output=False, stdout=log, stderr=log)
    assert done.returncode == 7
    assert shim.log.read_text().count("70-accounting") == 1


def test_the_exit_code_comes_through_and_the_failing_step_is_the_last_line(shim: Shim) -> None:
    shim.python(code=7)
    done = shim.run()
    assert done.returncode == 7
    assert json.loads(shim.log.read_text().splitlines()[-1])["step"] == "70-accounting"


def test_it_flushes_the_log_before_it_gives_up(shim: Shim) -> None:
    shim.python(code=7)
    shim.fake("sync", f'echo "$@" >{shim.root}/synced')
    assert shim.run().returncode == 7
    assert (shim.root / "synced").read_text().strip() == str(shim.log)


@pytest.mark.parametrize(("code", "waited"), [(7, "60"), (0, None)])
def test_only_a_failed_node_waits_for_its_log_to_be_shipped(
    shim: Shim, code: int, waited: str | None
) -> None:
    shim.python(code=code)
    shim.waits = True
    shim.fake("sleep", f'echo "$@" >{shim.root}/slept')
    assert shim.run().returncode == code
    slept = shim.root / "slept"
    assert (slept.read_text().strip() if slept.exists() else None) == waited


@pytest.mark.parametrize("name", ["python3.13", "python3.10"])
def test_it_finds_a_newer_python_beside_an_old_one(shim: Shim, name: str) -> None:
    shim.python("python3", version_answer=1)
    shim.python(name)
    assert shim.run().returncode == 0


def refused(shim: Shim) -> str:
    done = shim.run()
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["step"], last["result"], last["exit_code"]) == (2, "00-bundle", "failed", 2)
    assert shim.log.read_text() == done.stdout
    return str(last["error"])


@pytest.mark.parametrize("pythons", [[], ["python3"]])
def test_without_a_python_that_is_new_enough_it_refuses_in_one_line(shim: Shim, pythons: list[str]) -> None:
    for name in pythons:
        shim.python(name, version_answer=1)
    assert refused(shim) == "no Python 3.10 or newer on this node; use an image that has one"
    assert len(shim.log.read_text().splitlines()) == 1


def test_a_changed_file_is_refused(shim: Shim) -> None:
    shim.python()
    (shim.bundle / "unbroken_node/main.py").write_text("print('not ours')")
    assert "damaged or incomplete" in refused(shim)
    assert "unbroken_node/main.py: FAILED" in shim.log.read_text()
    assert not shim.home.exists()


def test_a_missing_file_is_refused(shim: Shim) -> None:
    shim.python()
    (shim.bundle / "node.json").unlink()
    assert "damaged or incomplete" in refused(shim)


def test_a_missing_list_is_refused(shim: Shim) -> None:
    shim.python()
    (shim.bundle / "SHA256SUMS").unlink()
    assert "damaged or incomplete" in refused(shim)


def test_a_copy_that_fails_is_refused(shim: Shim) -> None:
    shim.python()
    (shim.programs / "cp").unlink()
    assert "cannot be copied to" in refused(shim)


def test_it_runs_again_from_either_place(shim: Shim) -> None:
    shim.python()
    (shim.bundle / "on_create.sh").chmod(stat.S_IRUSR)  # S3 keeps no modes
    assert shim.run().returncode == 0
    assert shim.run().returncode == 0
    before = sorted(path.name for path in shim.home.iterdir())
    shutil.rmtree(shim.bundle.parent)
    done = shim.run(shim.home / "on_create.sh", cwd=shim.root)
    assert done.returncode == 0
    assert sorted(path.name for path in shim.home.iterdir()) == before


def test_new_deployment_values_replace_the_old(shim: Shim) -> None:
    shim.python()
    assert shim.run().returncode == 0
    (shim.bundle / "deployed.json").write_text("{}")
    assert shim.run().returncode == 0
    assert (shim.home / "deployed.json").read_text() == "{}"


def test_a_real_python_gets_as_far_as_this_machine_allows(shim: Shim) -> None:
    """No fake: the real package starts isolated, and its refusal is the last line."""
    (shim.bundle / "deployed.json").unlink()
    wrapper = shim.programs / "python3"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    done = shim.run()
    assert done.returncode == 2
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["step"], last["error"]) == (
        "10-role",
        "deployed.json: found no such file, expected a JSON object",
    )
