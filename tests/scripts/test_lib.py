"""scripts/lib.sh, each function in a shell of its own with a PATH of the test's choosing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _shell(script: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    argv = ["bash", "-c", f"set -euo pipefail; . scripts/lib.sh; {script}"]
    return subprocess.run(argv, cwd=ROOT, env={"PATH": path}, capture_output=True, text=True, check=False)


def test_npm_comes_with_the_pinned_packages() -> None:
    """A fresh machine has neither npm nor node."""
    done = _shell("pinned_npm --version")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout), done.stderr
