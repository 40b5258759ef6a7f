"""Every change of a template is seen by a person."""

from __future__ import annotations

import difflib
import json
import re

import pytest

from tests.synth.build import EXAMPLES, Synth
from tests.synth.conftest import Synthesize
from tests.synth.golden_files import FOLDER, normal, texts


@pytest.mark.parametrize("name", EXAMPLES)
def test_templates_are_the_golden_ones(name: str, synthesized: Synthesize) -> None:
    wanted = texts(name, synthesized(name))
    assert set((FOLDER / name).glob("*.json")) == set(wanted), "accept with: make golden"
    for path, text in wanted.items():
        golden = path.read_text(encoding="utf-8")
        diff = difflib.unified_diff(
            golden.splitlines(),
            text.splitlines(),
            f"golden/{name}/{path.name}",
            "synthesized",
            lineterm="",
            n=8,
        )
        assert golden == text, "\n".join([*diff, "", "accept with: make golden"])


def test_only_examples_have_golden_files() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(EXAMPLES)


def test_a_golden_file_hides_hashes_and_nothing_else(mathstral: Synth) -> None:
    for area in mathstral.areas:
        hashes = re.findall(r"\b[0-9a-f]{64}\b|/[0-9a-f]{16}/", json.dumps(mathstral.template(area)))
        text = normal(mathstral, area)
        assert text.count("<asset>") + text.count("<hash>") == len(hashes)
        assert len(text.splitlines()) == len(json.dumps(mathstral.template(area), indent=2).splitlines())
