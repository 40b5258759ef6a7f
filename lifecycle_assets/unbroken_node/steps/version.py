"""99-version: the shared file system says with which bundle this node came up, in a file by its instance id.

A changed bundle reaches new nodes only, so the nodes of a cluster may differ, and here is how. It is the last
step: a node that failed on its way has not come up with anything.
"""

from __future__ import annotations

from unbroken_node import mounts
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step


def check(host: Host, node: Node) -> str | None:
    """The file is there and true."""
    problem = mounts.problem_at(host, node, _file(node))
    if problem is not None:
        return problem
    return None if host.read(_file(node)) == _text(node) else f"{_file(node)} does not say {node.version}"


def apply(host: Host, node: Node) -> None:
    """Write it."""
    mounts.shared(host, node, _file(node)).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    host.write(_file(node), _text(node))


def _file(node: Node) -> str:
    return f"{node.settings.training_root}/nodes/{node.identity}"


def _text(node: Node) -> str:
    return f"{node.version}\n"


STEP = Step("99-version", check, apply)
