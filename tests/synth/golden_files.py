"""Golden templates: how a template is written down, and where."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.synth.build import Synth

FOLDER = Path(__file__).resolve().parent / "golden"
# A changed step of the bundle changes hashes only, and these would drown what a reviewer should see.
_HASHES = [(r"\b[0-9a-f]{64}(\.zip)", r"<asset>\1"), (r"(lifecycle|training)/[0-9a-f]{16}/", r"\1/<hash>/")]


def normal(synth: Synth, area: str) -> str:
    """A stack's template as the golden file has it."""
    text = json.dumps(synth.template(area), indent=2, sort_keys=True) + "\n"
    for pattern, replacement in _HASHES:
        text = re.sub(pattern, replacement, text)
    return text


def texts(name: str, synth: Synth) -> dict[Path, str]:
    """Golden file -> its text, for every stack of one example."""
    return {FOLDER / name / f"{area}.json": normal(synth, area) for area in synth.areas}
