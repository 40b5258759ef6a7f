"""`make bench`: the figures of the README, measured in one run, beside their targets.

Start-up and synth are measured here; what a rehearsal took is read from the report.json of the rehearsal this
run makes (or of --report FILE). Ratios compare two figures of the same run; no figure is a test.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import PeakMemory, best

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
ENV = {"CDK_VALIDATION": "false", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1"}
NODE = "import os, stacks.node_runtime as n; n.use_packaged_node(os.environ); "  # the same Node.js for each


@dataclass(frozen=True)
class Figure:
    """One line of the table: what, how much, and what was hoped for."""

    name: str
    value: float
    unit: str
    target: float

    def line(self) -> str:
        verdict = "ok" if self.value <= self.target else "OVER"
        return f"{self.name:<52} {self.value:8.2f} {self.unit:<5} target {self.target:g}  {verdict}"


def start_up() -> Iterator[Figure]:
    cluster = "clusters/mathstral.yaml"
    unbroken = str(Path(PYTHON).with_name("unbroken"))
    help_cpu = best([unbroken, "--help"], ROOT, ENV).cpu_seconds
    yield Figure("unbroken --help", help_cpu, "CPU-s", 0.3)
    check_cpu = best([unbroken, "check", "--cluster", cluster], ROOT, ENV).cpu_seconds
    yield Figure("load and check the cluster file", check_cpu, "CPU-s", 0.8)


def synth() -> Iterator[Figure]:
    """Building and synthesizing the example's stacks, beside what importing CDK alone costs."""
    imported = best([PYTHON, "-c", NODE + "import aws_cdk"], ROOT, ENV).cpu_seconds
    stacks = best([PYTHON, "-c", NODE + "import stacks.app"], ROOT, ENV).cpu_seconds
    with tempfile.TemporaryDirectory() as out:
        whole = best([PYTHON, "app.py"], ROOT, {**ENV, "CDK_OUTDIR": out}).cpu_seconds
        yield Figure("synth in process / import aws_cdk", (whole - stacks) / imported, "x", 2.0)
        for name, cluster in larger(Path(out)):
            env = {**ENV, "CDK_OUTDIR": out, "UNBROKEN_CLUSTER": str(cluster)}
            yield Figure(name, best([PYTHON, "app.py"], ROOT, env).cpu_seconds / whole, "x", 1.2)


def larger(folder: Path) -> Iterator[tuple[str, Path]]:
    """The example grown to 1,000 workers, and to 20 groups."""
    for name, groups, nodes in (("1,000 workers", 1, 1000), ("20 groups", 20, 4)):
        workers = [
            {
                "name": f"g{index}",
                "instance_type": "ml.p4de.24xlarge",
                "num_instances": nodes,
                "partition": "p",
            }
            for index in range(groups)
        ]
        path = folder / "larger.yaml"
        path.write_text(json.dumps({"name": "ml-cluster", "worker_groups": workers}))  # JSON is YAML
        yield f"synth of {name} / of the example", path


def rehearsal(report: Mapping[str, Any], peak_gib: float | None) -> Iterator[Figure]:
    recovery = report["recovery"][0]
    yield Figure("five nodes, from create to idle in Slurm", create_to_idle(report), "s", 15)
    yield Figure("power-off to the first new training step", recovery["resumed_s"], "s", 25)
    yield Figure("whole rehearsal", report["seconds"], "s", 180)
    if peak_gib is not None:
        yield Figure("peak memory of the rehearsal", peak_gib, "GiB", 4)


def create_to_idle(report: Mapping[str, Any]) -> float:
    """Seconds from the first node's launch to every worker idle in Slurm."""
    launched = min(node["spans"][0]["start_s"] for node in report["nodes"])
    idle = next(stage for stage in report["stages"] if stage["name"] == "slurm")
    return float(idle["start_s"] + idle["seconds"] - launched)


def rehearse(folder: Path) -> tuple[Path, float]:
    """Rehearse the example's cluster once. Raises subprocess.CalledProcessError if the rehearsal fails."""
    with PeakMemory() as memory:
        subprocess.run(["scripts/rehearse", "--out", str(folder)], cwd=ROOT, check=True)
    return folder / "report.json", memory.gib


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the figures of the README, measured in one run")
    parser.add_argument("--report", type=Path, help="read the rehearsal's figures from this report.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, peak = (args.report, None) if args.report else rehearse(Path(folder))
        report = json.loads(path.read_text())
        for figures in (start_up(), synth(), rehearsal(report, peak)):
            for figure in figures:
                print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
