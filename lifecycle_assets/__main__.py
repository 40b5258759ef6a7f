"""Entry of the bundle: `python3 -I -S <bundle folder>` runs every step that this node needs.

With the argument `job` it brings a controller that runs to the bundle's job (job.sh does that), and with
`keep-slurm-conf` it only puts Slurm's settings back, as a unit of the bundle does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from unbroken_node.main import JOB, keep_slurm_conf, main, take_job
from unbroken_node.slurm_settings import KEEP

VERBS = {(): main, (JOB,): take_job, (KEEP,): keep_slurm_conf}

if __name__ == "__main__":
    verb = VERBS.get(tuple(sys.argv[1:]))
    sys.exit(verb(Path(__file__).resolve().parent) if verb else f"{sys.argv[1:]}: neither {JOB} nor {KEEP}")
