"""``python -m tests.synth.validate`` puts every example through CDK's own template validator.

A process of its own: whether CDK validates is decided as its Node.js starts, and all else runs without.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.synth.build import EXAMPLES, synth
from unbroken import config
from unbroken.config import ClusterConfig

REPORT = "validation-report.json"


def violations(cluster: ClusterConfig, folder: Path) -> list[str]:
    """What the validator finds, warnings included. CDK raises for errors, after it has written its report."""
    try:
        synth(cluster, folder)
    except RuntimeError as error:
        if "ValidationFailed" not in str(error):
            raise
    report: dict[str, Any] = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return [_line(each) for plugin in report["pluginReports"] for each in plugin["violations"]]


def _line(violation: dict[str, Any]) -> str:
    where = violation["violatingConstructs"][0]["constructPath"]
    return f"{violation['severity']} {violation['ruleName']} {where}: {violation['description']}"


def main() -> int:
    """One line a finding; exit status 1 if there are any."""
    os.environ["CDK_VALIDATION"] = "true"
    found = 0
    with TemporaryDirectory() as folder:
        for name, path in EXAMPLES.items():
            for line in violations(config.load(path), Path(folder) / name):
                print(f"{name}: {line}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
