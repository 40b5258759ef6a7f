"""The builder of the ranks' Python, with a wheel of a few bytes in place of torch: venv and pip are real."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from training.launch import environment
from training.launch.environment import BuildError, Busy, build

PROOF = "import nothing_much; print(nothing_much.VERSION)"


def write_wheel(folder: Path, version: str) -> str:
    """A pure wheel; returns its line of a requirements file."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"nothing_much-{version}.dist-info"
    files = {
        "nothing_much.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: nothing-much\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items())
    path = folder / f"nothing_much-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(zipfile.ZipInfo(name), text)  # no time of day, which would change the hash
    return f"nothing-much=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared file system without a way to a package index."""
    return tmp_path_factory.mktemp("fsx") / "unbroken"


@pytest.fixture(scope="module")
def python(root: Path) -> str:
    """A Python whose environments have this one's pip at once: unpacking it takes most of a build's time."""
    ours = next(Path(path) for path in sys.path if (Path(path) / "pip").is_dir())
    packages = f'"$3/lib/python{_version()}/site-packages"'
    make = f'{sys.executable} -m venv --without-pip "$3" && echo {ours} >{packages}/pip.pth'
    path = root.parent / "python3"
    path.write_text(
        f'#!/bin/bash\nif [ "$1 $2" = "-m venv" ]; then {make}; else exec {sys.executable} "$@"; fi\n'
    )
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "NEEDED_GIB", 0)


def requirements(root: Path, version: str) -> Path:
    path = root.parent / f"requirements-{version}.txt"
    path.write_text(write_wheel(root / "wheelhouse", version))
    return path


def links(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("env*"))


def test_a_build_that_is_killed_is_never_taken_for_whole_and_goes_on(root: Path, python: str) -> None:
    """Killed when everything is installed and only the stamp is missing; a second builder is refused then."""
    wanted = requirements(root, "1.0")
    started = root.parent / "started"
    waits = f"open({str(started)!r}, 'w'); import time; time.sleep(600)"
    code = (
        "from pathlib import Path; from training.launch import environment as e; e.NEEDED_GIB = 0; "
        f"e.build(Path({str(root)!r}), Path({str(wanted)!r}), python={python!r}, proof={waits!r})"
    )
    project = str(Path(__file__).parents[2])
    builder = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": project}, start_new_session=True
    )
    until = time.monotonic() + 90
    while not started.exists():
        assert builder.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    with pytest.raises(Busy, match="another builder is at work"):
        build(root, wanted, python, PROOF)
    os.killpg(builder.pid, signal.SIGKILL)
    builder.wait()
    (name,) = links(root)
    assert not (root / name / "complete").exists()
    assert build(root, wanted, python, PROOF) == root / name
    assert (root / "env").readlink() == Path(name) and (root / name / "complete").read_text() == "1.0\n"


def test_what_is_whole_is_not_touched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = requirements(root, "1.0")
    (root / "env").unlink()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("nothing is to be done"))
    build(root, wanted)
    assert (root / "env/complete").exists()


def test_a_package_that_differs_from_its_hash_leaves_the_last_environment(root: Path, python: str) -> None:
    """And the next requirements, once they are right, are built beside it; jobs keep the one they use."""
    before = (root / "env").readlink()
    wanted = requirements(root, "2.0")
    right = wanted.read_text()
    wanted.write_text(right[:-3] + ("00\n" if right[-3:] != "00\n" else "11\n"))
    with pytest.raises(BuildError, match="packages are missing"):
        build(root, wanted, python, PROOF)
    assert (root / "env").readlink() == before and (root / before / "complete").exists()
    assert not (root / environment.folder_name(wanted.read_bytes(), _version()) / "complete").exists()


def test_a_folder_of_ones_own_is_left_alone(root: Path) -> None:
    (root / "env").unlink()
    (root / "env").mkdir()
    with pytest.raises(BuildError, match="somebody's own"):
        build(root, requirements(root, "1.0"), proof=PROOF)
    assert (root / "env").is_dir() and not (root / "env").is_symlink()


def test_too_little_room_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "NEEDED_GIB", 1 << 40)
    with pytest.raises(BuildError, match="GiB free"):
        build(tmp_path / "fsx", requirements(tmp_path / "other", "1.0"))
    assert links(tmp_path / "fsx") == []


def test_everything_the_job_needs_is_pinned_with_hashes() -> None:
    lines = environment.REQUIREMENTS.read_text().splitlines()
    pinned = {line.split("==")[0] for line in lines if "==" in line.split(" ;")[0]}
    assert {"torch", "transformers", "numpy", "xxhash", "pyyaml", "safetensors", "datasets"} <= pinned
    assert all(line.lstrip().startswith("--hash=sha256:") or "==" in line for line in lines)
    (torch,) = [line for line in lines if line.startswith("torch==")]
    ours = (Path(__file__).parents[2] / "requirements/torch.txt").read_text().strip()
    assert torch.removesuffix(" \\") == ours


def _version() -> str:
    return "{}.{}".format(*sys.version_info[:2])
