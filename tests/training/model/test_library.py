"""A rank imports transformers without reading the source of models it does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
COUNT = """
import sys
read = set()
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".py") and "/transformers/models/" in str(arguments[0]):
        read.add(str(arguments[0]).partition("/transformers/models/")[2].partition("/")[0])
sys.addaudithook(hook)
{}
print(*sorted(read - {{"mistral", "llama", "auto", "__init__.py"}}))
"""
BUILD = """
from training import pretrain
pretrain.load_libraries()
from training.model.build import build
from training.model.presets import PRESETS
for preset in ("mathstral-7b", "llama3-8b"):
    assert build(PRESETS[preset].shape)
"""


def said(code: str, *folders: Path) -> list[str]:
    """What a Python of its own prints, in words."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*folders, ROOT]))}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_both_models_are_built_and_no_other_ones_source_is_read() -> None:
    assert said(COUNT.format(BUILD)) == []


def test_the_library_by_itself_reads_them_all() -> None:
    assert len(said(COUNT.format("import transformers"))) > 100


def test_a_version_that_is_built_in_another_way_is_imported_as_it_is(tmp_path: Path) -> None:
    parts = tmp_path / "transformers" / "utils"
    parts.mkdir(parents=True)
    (parts / "import_utils.py").write_text("")  # without what reads the sources
    (tmp_path / "transformers" / "__init__.py").write_text("whole = 'yes'\n")
    code = (
        "from training.model import library; library.load()\n"
        "import sys, transformers; print(transformers.whole, 'transformers.utils' in sys.modules)"
    )
    assert said(code, tmp_path) == ["yes", "False"]


def test_what_is_imported_already_stays(tmp_path: Path) -> None:
    (tmp_path / "transformers.py").write_text("")
    code = (
        "import transformers; from training.model import library; library.load()\n"
        "import sys; print(sys.modules['transformers'] is transformers)"
    )
    assert said(code, tmp_path) == ["True"]
