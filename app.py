"""The CDK app: load the cluster file (``-c cluster=FILE`` first), build the stacks, synth."""

from __future__ import annotations

import json
import os
import sys

from stacks.node_runtime import use_packaged_node
from unbroken import config
from unbroken.render import RenderError


def main() -> int:
    """Exit status: 0, or 2 with every problem of the cluster file or the checkout on stderr."""
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    try:
        cluster = config.load(config.find(context.get("cluster"), os.environ))
    except config.ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    use_packaged_node(os.environ)
    from stacks.app import build_app  # starts a Node.js process, for which a wrong cluster file need not wait

    try:
        build_app(cluster).synth()
    except RenderError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
