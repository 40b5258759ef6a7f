"""``python -m benchmarks.reproducible --python PATH... --node PATH...``: the same bytes whatever runs CDK?

Synthesizes every cluster file with each pair of interpreters and compares all files with those of the first
pair. Each Python needs what app.py needs (``pip install 'unbroken[synth]'``). It is no test, since a machine
rarely has several of each. Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stacks.node_runtime import use_packaged_node

ROOT = Path(__file__).parents[1]
CLUSTERS = sorted((ROOT / "clusters").glob("*.yaml"))


def digests(python: str, node: str, out: Path) -> dict[str, str]:
    """Every file of every cluster's output, and its hash. Raises subprocess.CalledProcessError."""
    for cluster in CLUSTERS:
        context = {"cluster": f"clusters/{cluster.name}"}
        env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "JSII_NODE": node,
            "CDK_OUTDIR": str(out / cluster.stem),
            "CDK_CONTEXT_JSON": json.dumps(context),
        }
        subprocess.run([python, "app.py"], cwd=ROOT, env=env, check=True, capture_output=True)
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def compare(pythons: list[str], nodes: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each pair's versions, and the files that differ from the first pair's."""
    first: dict[str, str] = {}
    for python in pythons:
        for node in nodes:
            with tempfile.TemporaryDirectory() as folder:
                found = digests(python, node, Path(folder))
            first = first or found
            differing = [name for name in first | found if first.get(name) != found.get(name)]
            yield f"{version(python)}, Node.js {version(node)}: {len(found)} files", differing


def version(program: str) -> str:
    """What it says of itself."""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    own: dict[str, str] = {}
    use_packaged_node(own)
    parser = argparse.ArgumentParser(
        description="Compare the templates of several Pythons and Node.js versions"
    )
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--node", nargs="+", default=[own["JSII_NODE"]])
    args = parser.parse_args()
    differences = 0
    for pair, differing in compare(args.python, args.node):
        print(pair, "DIFFERENT: " + ", ".join(differing[:5]) if differing else "identical", flush=True)
        differences += len(differing)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
