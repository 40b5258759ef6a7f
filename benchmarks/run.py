"""`make bench`: one table of all figures, measured in one run, beside their targets.

Each part is a benchmark that also runs alone: `python -m benchmarks.NAME`. Their figures are ratios of two
things measured together where a target has to hold on any machine; none is a test. Exit codes: 0 every target
met; 1 one was not; 2 a part could not be run, which is said in place of its figures.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

from torch.multiprocessing.spawn import ProcessException

from benchmarks import checkpoint, data, gpu, laptop, rehearsal, resume, step_time
from benchmarks.figures import Figure, show

PARTS = {
    "laptop": laptop.figures,
    "step_time": step_time.figures,
    "checkpoint": checkpoint.figures,
    "data": data.figures,
    "resume": resume.figures,
    "gpu": gpu.figures,
    "rehearsal": rehearsal.figures,
}
EXIT_COULD_NOT_RUN = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Measure all figures")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"only these of {', '.join(PARTS)}")
    chosen = parser.parse_args(arguments).parts or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    return max([run(name, PARTS[name]) for name in chosen])


def run(name: str, figures: Callable[[], Iterable[Figure]]) -> int:
    """One part of the table; returns the exit code. What keeps it from running is said in full."""
    print(f"bench: {name}", file=sys.stderr, flush=True)
    try:
        return show(figures())
    except (subprocess.CalledProcessError, ProcessException) as error:
        print(f"error: {name} could not be run: {error}", file=sys.stderr)
        print(getattr(error, "stderr", ""), file=sys.stderr, flush=True)
        return EXIT_COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
