"""``python -m tests.synth.accept`` writes the golden templates anew; look at the diff before you commit."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.synth.build import synth
from tests.synth.golden_files import FOLDER, texts
from unbroken import config

CLUSTER = Path(__file__).resolve().parents[2] / "clusters" / "mathstral.yaml"


def main() -> int:
    """Say which files changed."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        wanted = texts(synth(config.load(CLUSTER), Path(folder)))
    for path in set(FOLDER.glob("*.json")) - set(wanted):
        path.unlink()
        print(f"removed {path.name}")
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
