"""Layers of Python packages for the nodes: the AWS CLI, and the training environment with torch.

Installed by this interpreter's pip for the nodes' Python 3.11, whatever the host runs. The requirement files
carry no environment markers, because pip evaluates markers for the host.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

from unbroken.rehearsal.nodes.cache import Progress, RootFsError, digest
from unbroken.rehearsal.nodes.chroot import run_in

AWS_CLI = "opt/aws-cli"
TRAINING = "opt/rehearsal/training"
TRAINING_SIZE_MIB = 1300
TRAINING_DOWNLOAD_MIB = 250  # with a CPU build of torch
AWS_CLI_SIZE_MIB = 250
AWS_CLI_DOWNLOAD_MIB = 25

_VERSION = "1"  # raise it when this module builds something else from the same requirements
_PYTHON = "3.11"
_GLIBC = ("2_17", "2_28", "2_31", "2_34", "2_35")  # Debian 12 has 2.36
_REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements"
_AWS_WRAPPER = """#!/bin/sh
# The AWS CLI of the rehearsed image. The endpoint is the one thing that differs from AWS.
[ -z "${AWS_ENDPOINT_URL:-}" ] && [ -r /etc/environment ] && . /etc/environment
export AWS_ENDPOINT_URL
PYTHONPATH=/opt/aws-cli exec /usr/bin/python3 -m awscli "$@"
"""
_VENV = """home = /usr/bin
include-system-site-packages = false
version = 3.11
"""


def requirements(name: str) -> Path:
    """A requirement file of the project; raises RootFsError where the package was installed without them."""
    path = _REQUIREMENTS / name
    if not path.is_file():
        raise RootFsError(f"{path} is missing\n\nhint: run the rehearsal from a checkout of the project")
    return path


def aws_cli_recipe() -> str:
    """What names the AWS CLI's layer."""
    return digest(_VERSION, requirements("node-aws-cli.txt").read_bytes())


def training_recipe() -> str:
    """What names the training layer."""
    files = [requirements("node-training.txt"), requirements("torch.txt")]
    return digest(_VERSION, "venv", *(path.read_bytes() for path in files))


def build_aws_cli(into: Path, base: Path, progress: Progress) -> None:
    """The AWS CLI at /opt/aws-cli with ``aws`` in /usr/local/bin."""
    progress("installing the AWS CLI for the nodes")
    target = into / AWS_CLI
    _pip(target, "--no-deps", "--require-hashes", "-r", str(requirements("node-aws-cli.txt")))
    _program(into / "usr/local/bin/aws", _AWS_WRAPPER)
    _compile(into, base, AWS_CLI)


def build_training(into: Path, base: Path, progress: Progress) -> None:
    """torch and what the job needs at /opt/rehearsal/training, compiled so that imports are fast."""
    target = into / TRAINING / f"lib/python{_PYTHON}/site-packages"
    progress("installing torch for the nodes (a download of some size where it is not on this machine)")
    _pip(target, "-r", str(requirements("torch.txt")))
    progress("installing the job's other packages")
    # torch brought its dependencies unpinned; the pinned ones replace them.
    _pip(target, "--no-deps", "--upgrade", "--require-hashes", "-r", str(requirements("node-training.txt")))
    _virtual_environment(into / TRAINING)
    progress("compiling the training environment")
    _compile(into, base, TRAINING)


def _pip(target: Path, *args: str) -> None:
    argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(target)]
    argv += ["--python-version", _PYTHON, "--implementation", "cp", "--only-binary=:all:", *_platforms()]
    argv += args
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RootFsError(
            f"pip could not install {args[-1]} for the nodes: {_last_line(result.stderr)}\n\n"
            "hint: check that pip reaches a package index from this machine, and run `make setup` again"
        )


def _platforms() -> list[str]:
    machine = platform.machine()
    tags = [f"manylinux_{version}_{machine}" for version in _GLIBC]
    tags += [f"manylinux2014_{machine}", f"linux_{machine}"]
    return [f"--platform={tag}" for tag in tags]


def _last_line(text: str) -> str:
    errors = [line for line in text.splitlines() if line.startswith("ERROR:")]
    return (errors or text.splitlines() or ["no message"])[-1]


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _virtual_environment(root: Path) -> None:
    """Make the nodes' own python3 use the packages below ``root``."""
    (root / "bin").mkdir()
    (root / "bin/python3").symlink_to("/usr/bin/python3")
    (root / "pyvenv.cfg").write_text(_VENV)


def _compile(layer: Path, base: Path, where: str) -> None:
    # A few packages ship files that are no Python 3.11; they fail to compile and nobody imports them.
    run_in([base], layer, ["python3", "-m", "compileall", "-q", "-j", "2", f"/{where}"], check=False)
