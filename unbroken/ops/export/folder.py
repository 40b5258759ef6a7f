"""Output that is there whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from unbroken.ops.errors import CannotRun


@contextmanager
def whole_folder(out: Path, marker: str) -> Iterator[Path]:
    """A new folder that takes the place of ``out`` at the end, if all went well.

    ``out`` may be an earlier export, known by the file ``marker``; CannotRun if it is anything else.
    """
    if out.exists() and not _replaceable(out, marker):
        raise CannotRun(f"{out} is there and is not an earlier export", "name a folder that is not there yet")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        made = Path(scratch) / out.name
        made.mkdir()
        yield made
        if out.exists():
            out.rename(Path(scratch) / "replaced")
        made.rename(out)


def whole_files(out: Path, texts: Mapping[str, str]) -> None:
    """Write every text under its name in ``out``; other files there stay. No file is ever half there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".export-") as scratch:
        for name, text in texts.items():
            (Path(scratch) / name).write_text(text, encoding="utf-8")
        for name in texts:
            shutil.move(str(Path(scratch) / name), str(out / name))


def _replaceable(out: Path, marker: str) -> bool:
    return out.is_dir() and ((out / marker).is_file() or not any(out.iterdir()))
