"""What the check of a job's data says, in a process that knows the stand-in of the hub only.

The library reads its environment when it is imported, so this is a program: jobs as JSON in, answers out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def ask(jobs: dict[str, dict[str, object]], folder: Path, env: dict[str, str]) -> dict[str, Any]:
    """Exit code, words, and the files left in the job directory, of each job."""
    command = [sys.executable, "-m", "tests.training.answering", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | env,
        input=json.dumps(jobs),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _answer(directory: Path, settings: dict[str, object]) -> tuple[int, str, list[str]]:
    from training.data import check, writer

    writer._WAIT_SECONDS = 0.01
    os.environ["HF_TOKEN"] = str(settings.pop("HF_TOKEN", ""))
    directory.mkdir()
    (directory / "job.yaml").write_text(yaml.safe_dump(settings))
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = check.main(["--config", str(directory / "job.yaml")])
    return code, said.getvalue(), sorted(path.name for path in directory.rglob("*"))


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps({name: _answer(Path(sys.argv[1]) / name, asked[name]) for name in asked}))
