"""``python -m tests.synth.accept`` writes the golden files anew; look at the diff before you commit.

Where a resource that holds data would be replaced, it writes nothing unless told ``--accept-replacement``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.synth import data_guard, golden_files, pages
from tests.synth.build import EXAMPLES, Synth, synth
from unbroken import config

FLAG = "--accept-replacement"


def main(arguments: list[str]) -> int:
    """Say which files changed."""
    with TemporaryDirectory() as folder:
        examples = {name: synth(config.load(path), Path(folder) / name) for name, path in EXAMPLES.items()}
        lost = _losses(examples)
        if lost and FLAG not in arguments:
            print("error: deployed clusters would lose data:", *lost, sep="\n  ", file=sys.stderr)
            print(f"hint: if that is meant: make golden ARGS={FLAG}", file=sys.stderr)
            return 1
        _write(wanted(examples))
    return 0


def wanted(examples: dict[str, Synth]) -> dict[Path, str]:
    """Every golden file and generated page, and its text."""
    files = {
        path: text for name, each in examples.items() for path, text in golden_files.texts(name, each).items()
    }
    data = {name: data_guard.data_of(each) for name, each in examples.items()}
    files[data_guard.GOLDEN] = json.dumps(data, indent=1, sort_keys=True) + "\n"
    return files | pages.texts(examples)


def _losses(examples: dict[str, Synth]) -> list[str]:
    if not data_guard.GOLDEN.exists():
        return []
    before = json.loads(data_guard.GOLDEN.read_text(encoding="utf-8"))
    return data_guard.losses(before, {name: data_guard.data_of(each) for name, each in examples.items()})


def _write(files: dict[Path, str]) -> None:
    for path in set(golden_files.FOLDER.rglob("*.json")) - set(files):
        path.unlink()
        print(f"removed {path.name}")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.parent.name}/{path.name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
