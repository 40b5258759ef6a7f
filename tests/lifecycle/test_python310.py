"""The steps under the oldest Python they promise, isolated and without site packages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lifecycle.fake_node import CONTROLLER, LOGIN, WORKER
from unbroken import render

ROOT = Path(__file__).parents[2]
DRIVER = """
import io, json, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from pathlib import Path
from fake_node import CONTROLLER, build
from unbroken_node.journal import Journal
from unbroken_node.main import main, take_job
assert not [name for name in sys.modules if "site" == name], "-S"
bundle, training = Path(sys.argv[3]), Path(sys.argv[4])
codes = []
host = build(Path(sys.argv[5]), sys.argv[6], bundle, training)
for verb in (main, main, *[take_job] * (sys.argv[6] == CONTROLLER)):
    stream = io.StringIO()
    codes.append(verb(bundle, host, Journal(host, stream)))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
results = [line["result"] for line in lines]
print(json.dumps({"codes": codes, "results": results, "version": sys.version_info[:2]}))
"""


def interpreter() -> str:
    """Return a Python 3.10 that really answers, else the one at hand; a shim may only say "not found"."""
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.10*/bin/python3.10"))
    for candidate in [shutil.which("python3.10"), *map(str, pyenv)]:
        if candidate is not None and _answers(candidate):
            return candidate
    return sys.executable


def _answers(candidate: str) -> bool:
    done = subprocess.run([candidate, "-I", "-S", "-c", ""], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("address", [CONTROLLER, WORKER, LOGIN])
def test_every_step_runs_isolated(
    tmp_path: Path, bundle: render.Bundle, training: render.Bundle, address: str
) -> None:
    folders = [bundle.path, Path(__file__).parent, bundle.path, training.path, tmp_path / "node"]
    done = subprocess.run(
        [interpreter(), "-I", "-S", "-B", "-c", DRIVER, *map(str, folders), address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["codes"] == [0, 0, 0][: 3 if address == CONTROLLER else 2]
    assert set(result["results"][1:]) == {"skipped"}
    if result["version"] != [3, 10]:
        pytest.skip(f"ran on Python {result['version']}: no Python 3.10 on this machine")
