"""The app as the cdk command runs it: a process of its own, without credentials, settings or a home."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.synth.build import REPOSITORY

_UNPACKED = Path.home() / ".cache" / "aws" / "jsii" / "package-cache"
"""CDK's library as jsii has unpacked it before; doing it anew costs seconds each time."""


def run_app(
    folder: Path,
    context: dict[str, str],
    *,
    checkout: Path = REPOSITORY,
    prefix: Sequence[str] = (),
    umask: int = -1,
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """Writes to ``<folder>/out``; ``prefix`` is a command that runs it, such as ``unshare -n``."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "AWS_EC2_METADATA_DISABLED": "true", **env}
    clean |= {"JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(_UNPACKED), "PYTHONDONTWRITEBYTECODE": "1"}
    clean |= {"CDK_OUTDIR": str(folder / "out"), "CDK_CONTEXT_JSON": json.dumps(context)}
    return subprocess.run(
        [*prefix, sys.executable, "app.py"],
        cwd=checkout,
        env=clean,
        umask=umask,
        capture_output=True,
        text=True,
        timeout=120,
    )


def digests(folder: Path) -> dict[str, str]:
    """Every file below, and the hash of its content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
