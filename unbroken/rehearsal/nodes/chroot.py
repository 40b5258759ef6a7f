"""Run a program inside layers at build time, on an overlay in a mount namespace that ends with it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from unbroken.rehearsal.nodes.cache import RootFsError

_SCRIPT = """set -eu
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"
mount -t proc proc "$4/proc"
mount --rbind /dev "$4/dev"
root=$4
shift 4
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
"""


def run_in(lower: Sequence[Path], upper: Path, argv: Sequence[str], *, check: bool = True) -> None:
    """Run ``argv`` on the layers ``lower`` (topmost first); what it writes lands in ``upper``.

    Raises RootFsError when it fails and ``check`` is set.
    """
    with tempfile.TemporaryDirectory(dir=upper.parent, prefix=".building-work-") as work:
        scratch, merged = Path(work, "work"), Path(work, "merged")
        scratch.mkdir()
        merged.mkdir()
        layers = ":".join(str(path) for path in lower)
        outer = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _SCRIPT, "sh"]
        result = subprocess.run(
            [*outer, layers, str(upper), str(scratch), str(merged), *argv],
            capture_output=True,
            text=True,
            check=False,
        )
    if check and result.returncode != 0:
        raise RootFsError(f"{argv[0]} failed inside the root file system: {result.stderr.strip()}")
