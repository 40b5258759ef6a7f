"""Every change of a template is seen by a person."""

from __future__ import annotations

import difflib

from tests.synth.build import Synth
from tests.synth.golden_files import FOLDER, texts


def test_templates_are_the_golden_ones(mathstral: Synth) -> None:
    wanted = texts(mathstral)
    assert set(FOLDER.glob("*.json")) == set(wanted), "accept with: make golden"
    for path, text in wanted.items():
        golden = path.read_text(encoding="utf-8")
        diff = difflib.unified_diff(
            golden.splitlines(), text.splitlines(), f"golden/{path.name}", "synthesized", lineterm="", n=8
        )
        assert golden == text, "\n".join([*diff, "", "accept with: make golden"])


def test_a_golden_file_hides_hashes_and_nothing_else(mathstral: Synth) -> None:
    for text in texts(mathstral).values():
        assert "<hash>" in text or "lifecycle/" not in text
        assert text.count("<asset>") < 10
