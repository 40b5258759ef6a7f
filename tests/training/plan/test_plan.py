"""What a job will take: published figures, the limits, and that no torch is needed."""

from __future__ import annotations

import json
import re
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
    assert "100 written in all (8.7 TB)" in said and "at most 4 at once" in said
    assert "32 of A100-80GB (assumed; --gpu names another)" in said


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
        (
            ["--preset", "mathstral-7b", "--file-system", "200"],
            "4 checkpoints are there at once and need 331 GiB, of which there are 200",
        ),
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
        (["--preset", "tiny", "--mfu", "1.5"], "--mfu: 1.5 is not a part"),
        (["--preset", "tiny", "--mfu", "nan"], "--mfu: nan is not a part"),
        (["--preset", "tiny", "--world", "0"], "--world: 0 is not a number from 1 on"),
        (["--preset", "tiny", "--gpus-per-node", "0", "sharding=hybrid"], "0 is not a number from 1 on"),
        (["--preset", "tiny", "--price", "-1"], "--price: -1 is not a number from 0 on"),
        (["--preset", "tiny", "--file-system", "x"], "--file-system: invalid number value: 'x'"),
        (["--preset", "tiny", "foo", "--json", "bar"], "foo: not key=value"),
        (["--preset", "tiny", "foo", "--json", "bar"], "command line: bar: not key=value"),
        (["--preset", "tiny", "one=1", "two=2"], "command line: two: not a setting of a job"),
        (["--preset", "tiny", "--world", "12", "sharding=hybrid"], "groups of 8 do not fill 12 ranks"),
        (["--config", "nowhere/job.yaml"], "No such file"),
    ],
)
def test_wrong_questions_end_with_2(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(arguments))
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert reason in said.err and said.out == ""


def test_settings_may_stand_between_options(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "num_steps=7", "--preset", "tiny", "keep_checkpoints=3", "--world", "2")
    assert (found["tokens"], found["checkpoints_at_once"]) == (7 * 2 * 1024, 5)


WAYS_OUT = [
    ("--preset llama3-70b --world 8", ["cpu_offload=true", "--world 32"]),
    (
        "--preset mathstral-7b --gpu-memory 40 activation_checkpointing=selective activation_offloading=no",
        ["activation_checkpointing=true", "activation_offloading=true"],
    ),
    ("--preset mathstral-7b --gpu-memory 24 sharding=hybrid", ["cpu_offload=true", "sharding=full"]),
    (
        "--preset mathstral-7b --gpu-memory 14 activation_checkpointing=false activation_offloading=false",
        [
            "context_length=16384 activation_checkpointing=true activation_offloading=true cpu_offload=true",
        ],
    ),
]


@pytest.mark.parametrize(("question", "ways"), WAYS_OUT)
def test_the_ways_out_are_ways_out(
    question: str, ways: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    roomy = [*question.split(), "--file-system", "10000"]
    assert main(roomy) == 2
    said = capsys.readouterr().out.partition("; it fits with ")[2].strip()
    assert said == " or with ".join(re.sub(r"--world (\d+)", r"\1 GPUs", way) for way in ways)
    for way in ways:
        assert main([*roomy, *way.split()]) == 0, way


def test_where_nothing_helps_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--preset", "llama3-70b", "--gpu-memory", "8", "--file-system", "4000"]) == 2
    assert "no setting helps: take a GPU with more memory" in capsys.readouterr().out


@pytest.mark.parametrize("setting", ["keep_checkpoints=2", "keep_checkpoints=5", "keep_every=500"])
def test_the_file_system_it_asks_for_is_enough(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    question = ["--preset", "llama3-70b", setting]
    assert main(question) == 2
    (size,) = re.findall(r"fit with a file system of ([\d,]+) GiB", capsys.readouterr().out)
    enough = int(size.replace(",", ""))
    assert main([*question, "--file-system", str(enough)]) == 0
    assert main([*question, "--file-system", str(enough - 1)]) == 2


def test_numbers_read_as_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--preset", "llama3-70b"]) == 2
    assert "847 GB; 1 fits 1,200 GiB" in capsys.readouterr().out
    assert main(["--preset", "tiny"]) == 0
    said = capsys.readouterr().out
    for part in ("(0.12 M)", "15.0 KiB", "1.5 MB; 854,454 fit", "(147.8 MB)", "0.1 seconds"):
        assert part in said
    assert main(["--preset", "tiny", "--gpu", "H100"]) == 0
    assert "32 of H100\n" in capsys.readouterr().out


def test_duration_and_cost_follow_from_what_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = (
        planned(capsys, "--preset", "mathstral-7b", "--mfu", mfu, "--price", "2") for mfu in ("0.2", "0.4")
    )
    assert slow["seconds"] == pytest.approx(2 * fast["seconds"])
    assert slow["cost"] == pytest.approx(2 * 32 * slow["seconds"] / 3600)


def test_logits_are_in_memory_of_some_tokens_only(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = (1_024, 4_096, 32_768)
    question = ["--preset", "mathstral-7b", "--json"]
    logits = [planned(capsys, *question, f"context_length={n}")["memory"]["logits"] for n in lengths]
    assert logits == [1_024 * 32_768 * 10, 4_096 * 32_768 * 10, 4_096 * 32_768 * 10]


def test_short_documents_take_less_attention(capsys: pytest.CaptureFixture[str]) -> None:
    """43.5 GFLOP a token for the parameters, 51.5 for attention over all of 32,768 tokens, 2.4 over 1,500."""
    question = ["--preset", "mathstral-7b"]
    unknown = planned(capsys, *question)
    assert unknown["seconds"] / unknown["seconds_least"] == pytest.approx(95.0 / 43.5, rel=1e-3)
    short = planned(capsys, *question, "--document-length", "1500")
    assert short["seconds"] == short["seconds_least"]
    assert unknown["seconds"] / short["seconds"] == pytest.approx(95.0 / 45.85, rel=1e-3)
    whole = planned(capsys, *question, "document_masking=false", "--document-length", "1500")
    assert whole["seconds"] == whole["seconds_least"] == unknown["seconds"]


def test_the_published_runs_utilisation() -> None:
    """1,434 tokens a second and GPU at a context of 4,096 on A100: 22.9 % of the peak."""
    done = 1434 * flops_per_token(PRESETS["mathstral-7b"].shape, 4096)
    assert done / DEVICES["A100-80GB"].peak_flops == pytest.approx(0.229, abs=0.001)


def test_devices_by_their_drivers_names() -> None:
    assert device_named("NVIDIA A100-SXM4-80GB") == DEVICES["A100-80GB"]
    assert device_named("NVIDIA H100 80GB HBM3") == DEVICES["H100"]
    assert device_named("NVIDIA H100 PCIe") == DEVICES["H100-PCIE"]
    assert device_named("NVIDIA H100 NVL") == DEVICES["H100-NVL"]
    assert device_named("NVIDIA H200 NVL") == DEVICES["H200-NVL"]
    assert device_named("NVIDIA H200") == DEVICES["H200"]
    assert device_named("NVIDIA L40S") == DEVICES["L40S"]
    assert device_named("NVIDIA GB10") is None


def test_neither_torch_nor_weights_are_needed(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules |= dict.fromkeys(['torch', 'numpy', 'transformers', 'xxhash']); "
        "from training.plan.__main__ import main; sys.exit(main(['--preset', 'llama3-8b']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"HF_HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "8,030,261,248" in done.stdout
