"""Checks of the file, of bundles and of this machine's programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.checks import subjects
from unbroken import render
from unbroken.catalog import instance_types
from unbroken.checks import bundle
from unbroken.checks.every import CHECKS
from unbroken.checks.file import FileValid
from unbroken.checks.result import Outcome, Verdict
from unbroken.checks.runner import answer
from unbroken.checks.subject import Missing, Program, Programs, Subject
from unbroken.checks.tools import version_in
from unbroken.config import ClusterConfig, ConfigError, load
from unbroken.render.bundle import sums_text

BY_ID = {check.id: check for check in CHECKS}
SCRIPT = "#!/usr/bin/env bash\necho here\n"


def outcome(name: str, subject: Subject) -> Outcome:
    [result] = answer([BY_ID[name]], subject).results
    return result.outcome


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Two small bundles whose hashes hold."""
    made = {name: tmp_path / name for name in ("lifecycle", "training")}
    files = {"on_create.sh": SCRIPT, "node.py": "print('node')\n", "sub/job.sbatch": SCRIPT}
    for folder in made.values():
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        signed(folder)
    return made


def signed(folder: Path) -> None:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    files = {name: (folder / name).read_bytes() for name in names if name != "SHA256SUMS"}
    (folder / "SHA256SUMS").write_text(sums_text(files))


OF_BUNDLE = [check.id for check in CHECKS if check.id.startswith("bundle-")]


@pytest.mark.parametrize("name", OF_BUNDLE)
def test_good_bundles_pass(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    found = outcome(name, subjects.subject(tmp_path, bundles=folders))
    assert found.verdict is Verdict.PASS, found


BROKEN: list[tuple[str, str, bytes, str]] = [
    ("bundle-hashes", "node.py", b"changed", "node.py not as in SHA256SUMS"),
    ("bundle-hashes", "more.py", b"", "more.py not as in SHA256SUMS"),
    ("bundle-shell-syntax", "on_create.sh", b"if true; then\n", "on_create.sh"),
    ("bundle-shell-syntax", "sub/job.sbatch", b"echo $(\n", "job.sbatch"),
    ("bundle-python-syntax", "node.py", b"try:\n  1\nexcept* E:\n  2\n", "node.py"),
    ("bundle-line-ends", "on_create.sh", b"#!/bin/bash\r\n", "on_create.sh"),
    ("bundle-size", "data.bin", b"\0" * bundle.MOST_BYTES, "data.bin"),
]


@pytest.mark.parametrize(("name", "file", "content", "words"), BROKEN)
def test_a_broken_bundle_is_found(
    name: str, file: str, content: bytes, words: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    (folders["lifecycle"] / file).write_bytes(content)
    found = outcome(name, subjects.subject(tmp_path, bundles=folders))
    assert (found.verdict, words in found.found) == (Verdict.FAIL, True), found
    assert found.fix


def test_every_bundle_check_has_a_broken_case() -> None:
    assert {name for name, *_ in BROKEN} == set(OF_BUNDLE) - {"bundle-rendered"}


def test_a_bundle_without_its_first_script_is_found(folders: dict[str, Path], tmp_path: Path) -> None:
    (folders["lifecycle"] / "on_create.sh").unlink()
    assert outcome("bundle-shell-syntax", subjects.subject(tmp_path, bundles=folders)).verdict is Verdict.FAIL


def test_a_bundle_without_sums_is_found(folders: dict[str, Path], tmp_path: Path) -> None:
    (folders["training"] / "SHA256SUMS").unlink()
    assert outcome("bundle-hashes", subjects.subject(tmp_path, bundles=folders)).verdict is Verdict.FAIL


def test_without_bash_scripts_are_unknown(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = outcome("bundle-shell-syntax", subjects.subject(tmp_path, bundles=folders))
    assert found.verdict is Verdict.UNKNOWN


def test_what_the_renderer_refused_is_a_failure(tmp_path: Path) -> None:
    refused = Missing("on_create.sh has Windows line ends", "sed", wrong=True)
    answers = answer([BY_ID[name] for name in OF_BUNDLE], subjects.subject(tmp_path, bundles=refused))
    assert [(one.id, one.verdict) for one in answers.results] == [("bundle-rendered", Verdict.FAIL)]
    assert len(answers.left_out) == len(OF_BUNDLE) - 1


TOOLS = ["tool-aws-cli", "tool-session-manager-plugin", "tool-node", "tool-cdk"]
FIELDS = dict(zip(TOOLS, ("aws", "session_manager_plugin", "node", "cdk"), strict=True))


def with_program(name: str, program: Program | None) -> Programs:
    values: dict[str, Any] = {field: getattr(subjects.GOOD_PROGRAMS, field) for field in FIELDS.values()}
    return Programs(**(values | {FIELDS[name]: program}))


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        (None, Verdict.FAIL),
        (Program("/bin/x", "v0.1.0"), Verdict.FAIL),
        (Program("/bin/x", "no number"), Verdict.UNKNOWN),
        (Program("/bin/x", ""), Verdict.UNKNOWN),
        (Program("/bin/x", "x/99.1.2 more"), Verdict.PASS),
    ],
)
def test_programs(name: str, program: Program | None, verdict: Verdict, tmp_path: Path) -> None:
    subject = subjects.subject(tmp_path, programs=with_program(name, program))
    assert outcome(name, subject).verdict is verdict


def test_the_least_aws_cli(tmp_path: Path) -> None:
    for version, verdict in (("2.17.0", Verdict.FAIL), ("2.17.1", Verdict.PASS)):
        program = Program("/bin/aws", f"aws-cli/{version} Python/3.11.8 Linux/6.8")
        subject = subjects.subject(tmp_path, programs=with_program("tool-aws-cli", program))
        assert outcome("tool-aws-cli", subject).verdict is verdict


def test_versions_are_read_from_words() -> None:
    assert version_in("aws-cli/2.17.1 Python/3.11") == (2, 17, 1)
    assert version_in("v24.19.0") == (24, 19, 0)
    assert version_in("none at all 3") is None


def test_a_file_is_told_with_its_problems(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("name: ml\n")
    with pytest.raises(ConfigError) as error:
        load(file)
    found = FileValid().refused(error.value)
    assert (found.verdict, "worker_groups" in found.found) == (Verdict.FAIL, True)


@pytest.mark.parametrize(
    ("offered", "verdict"), [(True, Verdict.PASS), (False, Verdict.FAIL), (None, Verdict.UNKNOWN)]
)
def test_types_by_region(
    offered: bool | None, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subjects.subject(tmp_path)
    monkeypatch.setattr(instance_types, "offered", lambda name, region: offered)
    assert outcome("type-in-region", subject).verdict is verdict


def test_the_real_bundles_pass(tmp_path: Path) -> None:
    config = ClusterConfig.model_validate(subjects.PLAIN)
    made = {
        "lifecycle": render.bundle(config, tmp_path / "one").path,
        "training": render.training_bundle(config, tmp_path / "two").path,
    }
    subject = subjects.subject(tmp_path, bundles=made)
    assert {outcome(name, subject).verdict for name in OF_BUNDLE} == {Verdict.PASS}
