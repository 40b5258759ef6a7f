"""A few faults of `make soak`, and that the soak would notice a wrong curve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training import soak


@pytest.fixture(scope="module")
def reference(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, str]]:
    directory = tmp_path_factory.mktemp("soak") / "undisturbed"
    assert soak.disturbed(directory, None) == 1
    return soak.curves(directory)


@pytest.mark.parametrize("kind", ["kill", "flip", "terminate"])
def test_a_disturbed_run_ends_on_the_undisturbed_ones_curve(
    kind: str, reference: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    seed = next(seed for seed in range(1000) if soak.choose(seed).kind == kind and soak.choose(seed).step > 5)
    soak.disturbed(tmp_path / "job", soak.choose(seed))
    assert soak.differing(tmp_path / "job", reference) == []


def test_a_curve_that_differs_in_the_last_bit_or_lacks_a_step_is_noticed(
    reference: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    lines = [
        {"step": step, "loss": float.fromhex(loss), "grad_norm": float.fromhex(norm)}
        for step, loss, norm in reference
    ]
    lines[4]["loss"] *= 1 + 2**-52
    del lines[7]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert soak.differing(tmp_path, reference) == ["step 5 differs", "step 5 is missing", "step 8 is missing"]


def test_a_seed_names_a_fault_and_all_kinds_come() -> None:
    faults = [soak.choose(seed) for seed in range(100)]
    assert faults == [soak.choose(seed) for seed in range(100)]
    assert {fault.kind for fault in faults} == set(soak.KINDS)
