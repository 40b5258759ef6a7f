"""Entry of the bundle: `python3 -I -S <bundle folder>` runs every step that this node needs."""

from __future__ import annotations

import sys
from pathlib import Path

from unbroken_node.main import main

if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
