"""`python -m benchmarks.laptop`: what the CLI's start and the synth of templates cost, in processor time."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, show
from benchmarks.measure import best

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
ENV = {"CDK_VALIDATION": "false", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1"}
NODE = "import os, stacks.node_runtime as n; n.use_packaged_node(os.environ); "  # the same Node.js for each


def figures() -> Iterator[Figure]:
    """The CLI first, then synth."""
    yield from start_up()
    yield from synth()


def start_up() -> Iterator[Figure]:
    """What every call of the CLI waits for."""
    unbroken = str(Path(PYTHON).with_name("unbroken"))
    yield Figure("unbroken --help", _seconds([unbroken, "--help"], times=10), "CPU-s", 0.3)
    check = [unbroken, "check", "--cluster", "clusters/mathstral.yaml"]
    yield Figure("load and check the cluster file", _seconds(check, times=10), "CPU-s", 0.8)


def synth() -> Iterator[Figure]:
    """Building and synthesizing the example's stacks, beside what importing CDK alone costs."""
    imported = _seconds([PYTHON, "-c", NODE + "import aws_cdk"])
    stacks = _seconds([PYTHON, "-c", NODE + "import stacks.app"])
    with tempfile.TemporaryDirectory() as out:
        whole = _seconds([PYTHON, "app.py"], {"CDK_OUTDIR": out})
        yield Figure("synth in process / import aws_cdk", (whole - stacks) / imported, "x", 2.0)
        for name, cluster in larger(Path(out)):
            env = {"CDK_OUTDIR": out, "UNBROKEN_CLUSTER": str(cluster)}
            yield Figure(name, _seconds([PYTHON, "app.py"], env) / whole, "x", 1.2)


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


def _seconds(command: list[str], more: dict[str, str] | None = None, times: int = 4) -> float:
    return best(command, ROOT, {**ENV, **(more or {})}, times)


if __name__ == "__main__":
    sys.exit(show(figures()))
