"""Entry of the bundle: `python3 -I -S <bundle folder>` runs every step that this node needs.

With the argument `keep-slurm-conf` it only puts Slurm's settings back, as a unit of the bundle does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from unbroken_node.main import keep_slurm_conf, main
from unbroken_node.slurm_settings import KEEP

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    sys.exit(keep_slurm_conf(folder) if sys.argv[1:] == [KEEP] else main(folder))
