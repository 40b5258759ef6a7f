"""What a job will take: published figures, the limits, and that no torch is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from training.compute import DEVICES, device_named, flops_per_token
from training.model.presets import PRESETS
from training.plan.__main__ import main

MATHSTRAL = ("--preset", "mathstral-7b")
ROOT = Path(__file__).parents[3]


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) in (0, 2)
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_the_published_jobs_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--preset", "mathstral-7b", "--price", "4"]) == 0
    said = capsys.readouterr().out
    for figure in ("7,248,023,552 (7.25 B)", "27.0 GiB", "108.0 GiB", "87 GB; 14 fit 1,200 GiB", "1,048,576"):
        assert figure in said
    assert "100 are written (8.7 TB), 2 kept" in said


def test_state_is_split_over_the_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    wide, narrow = (planned(capsys, "--preset", "mathstral-7b", "--world", n) for n in ("32", "8"))
    assert narrow["memory"]["weights"] == 4 * wide["memory"]["weights"] == 4 * 7_248_023_552 / 8
    assert narrow["memory"]["optimizer"] == 2 * narrow["memory"]["weights"]


def test_hybrid_sharding_splits_over_a_node_only(capsys: pytest.CaptureFixture[str]) -> None:
    full, hybrid = (
        planned(capsys, "--preset", "mathstral-7b", f"sharding={kind}") for kind in ("full", "hybrid")
    )
    assert hybrid["memory"]["weights"] == 4 * full["memory"]["weights"]


def test_what_saves_memory_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    kept, selective, full, moved = (
        planned(
            capsys, "--preset", "mathstral-7b", f"activation_checkpointing={a}", f"activation_offloading={b}"
        )
        for a, b in (("false", "false"), ("selective", "false"), ("true", "false"), ("true", "true"))
    )
    parts = [each["memory"]["activations"] for each in (kept, selective, full, moved)]
    assert parts == sorted(parts, reverse=True) and len(set(parts)) == 4
    host = planned(capsys, "--preset", "mathstral-7b", "cpu_offload=true")
    state = sum(moved["memory"][part] for part in ("weights", "gradients", "optimizer"))
    assert moved["memory"]["gpu"] - host["memory"]["gpu"] == state


def test_a_mask_of_documents_is_counted_where_one_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    dropping, crossing = (
        planned(capsys, *MATHSTRAL, "weights=scratch", "attention_dropout=0.1", f"document_masking={masking}")
        for masking in ("true", "false")
    )
    difference = dropping["memory"]["activations"] - crossing["memory"]["activations"]
    assert difference == 32_768**2 * 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--preset", "llama3-70b", "--world", "8"], "does not fit: a GPU needs"),
        (["--preset", "mathstral-7b", "--gpu-memory", "16"], "has 12.0 besides the reserve"),
        (["--preset", "mathstral-7b", "--file-system", "200"], "2 checkpoints fit 200 GiB; 2 are kept"),
    ],
)
def test_what_cannot_fit_ends_with_2(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert reason in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--preset", "mathstal-7b"], "is not offered"),
        (["--preset", "tiny", "context_length=4096"], "command line: context_length"),
        (["--preset", "tiny", "--mfu", "1.5"], "--mfu a part"),
        (["--preset", "tiny", "--world", "12", "sharding=hybrid"], "groups of 8 do not fill 12 ranks"),
        (["--config", "nowhere/job.yaml"], "No such file"),
    ],
)
def test_wrong_questions_end_with_2(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert reason in capsys.readouterr().err


def test_duration_and_cost_follow_from_what_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = (
        planned(capsys, "--preset", "mathstral-7b", "--mfu", mfu, "--price", "2") for mfu in ("0.2", "0.4")
    )
    assert slow["seconds"] == pytest.approx(2 * fast["seconds"])
    assert slow["cost"] == pytest.approx(2 * 32 * slow["seconds"] / 3600)


def test_the_published_runs_utilisation() -> None:
    """1,434 tokens a second and GPU at a context of 4,096 on A100: 22.9 % of the peak."""
    done = 1434 * flops_per_token(PRESETS["mathstral-7b"].shape, 4096)
    assert done / DEVICES["A100-80GB"].peak_flops == pytest.approx(0.229, abs=0.001)


def test_devices_by_their_drivers_names() -> None:
    assert device_named("NVIDIA A100-SXM4-80GB") == DEVICES["A100-80GB"]
    assert device_named("NVIDIA H100 80GB HBM3") == DEVICES["H100"]
    assert device_named("NVIDIA L40S") == DEVICES["L40S"]
    assert device_named("NVIDIA GB10") is None


def test_neither_torch_nor_weights_are_needed(tmp_path: Path) -> None:
    code = "import sys; sys.modules |= {'torch': None, 'numpy': None, 'transformers': None}; " + (
        "from training.plan.__main__ import main; sys.exit(main(['--preset', 'llama3-8b']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"HF_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "8,030,261,248" in done.stdout
