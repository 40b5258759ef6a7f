"""`python -m benchmarks.rehearsal [--report FILE]`: what one rehearsal of the example's cluster takes."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, show
from benchmarks.measure import PeakMemory

ROOT = Path(__file__).parents[1]


def figures() -> Iterator[Figure]:
    """Rehearse once. Raises subprocess.CalledProcessError if the rehearsal fails."""
    with tempfile.TemporaryDirectory() as folder:
        with PeakMemory() as memory:
            command = ["scripts/rehearse", "--out", folder]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        yield from reported(json.loads((Path(folder) / "report.json").read_text()))
    yield Figure("peak memory of the rehearsal", memory.gib, "GiB", 4)


def reported(report: Mapping[str, Any]) -> Iterator[Figure]:
    """What a rehearsal's report.json says; a reduced one has no nodes."""
    if report["mode"] == "reduced":
        yield Figure("rehearsal", None, "not measured: no nodes here, see docs/guides/rehearse.md")
        return
    yield Figure("five nodes, from create to idle in Slurm", create_to_idle(report), "s", 15)
    yield Figure("power-off to the first new training step", report["recovery"][0]["resumed_s"], "s", 25)
    yield Figure("whole rehearsal", report["seconds"], "s", 180)


def create_to_idle(report: Mapping[str, Any]) -> float:
    """Seconds from the first node's launch to every worker idle in Slurm."""
    launched = min(node["spans"][0]["start_s"] for node in report["nodes"])
    idle = next(stage for stage in report["stages"] if stage["name"] == "slurm")
    return float(idle["start_s"] + idle["seconds"] - launched)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Measure a rehearsal")
    parser.add_argument("--report", type=Path, help="read this report.json instead of rehearsing")
    report = parser.parse_args().report
    return show(reported(json.loads(report.read_text())) if report else figures())


if __name__ == "__main__":
    sys.exit(main())
