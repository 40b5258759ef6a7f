"""The programs of this machine and what they say of their versions."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from unbroken.checks.subject import Program, Programs
from unbroken.ops.tools import cdk_command, node_program

SECONDS = 20.0


def programs(root: Path | None) -> Programs:
    """Ask them all at once; none of them does more than to tell its version."""
    with ThreadPoolExecutor(3) as pool:
        aws = pool.submit(_asked, shutil.which("aws"))
        plugin = pool.submit(_asked, shutil.which("session-manager-plugin"))
        node = pool.submit(_asked, node_program())
        cdk = cdk_command(root) if root else shutil.which("cdk")
        return Programs(aws.result(), plugin.result(), node.result(), _cdk(cdk))


def _asked(path: Path | str | None) -> Program | None:
    if path is None:
        return None
    try:
        done = subprocess.run(
            [str(path), "--version"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return Program(str(path), "")
    lines = (done.stdout or done.stderr).strip().splitlines()
    return Program(str(path), lines[0] if lines and done.returncode == 0 else "")


def _cdk(path: Path | str | None) -> Program | None:
    """From its package, since the command itself takes a second to say it."""
    if path is None:
        return None
    for folder in Path(path).resolve().parents:
        package = folder / "package.json"
        if package.is_file():
            return Program(str(path), str(json.loads(package.read_text(encoding="utf-8")).get("version", "")))
    return _asked(path)
