"""The benchmark for one GPU says that there is none; what it does is tried on a CPU."""

from __future__ import annotations

import pytest

from tests.training import ranks


def benchmark(arguments: list[str]) -> tuple[int, list[str]]:
    import contextlib
    import io

    from benchmarks import gpu

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = gpu.main(arguments)
    return code, said.getvalue().splitlines()


def test_without_a_gpu_nothing_is_measured() -> None:
    import importlib.util

    assert importlib.util.find_spec("benchmarks.gpu")
    if ranks.call(has_gpu):
        pytest.skip("there is a GPU here")
    assert ranks.call(benchmark, []) == (
        2,
        [
            "no GPU here: nothing is measured",
            "  hint: --device cpu --preset tiny --contexts 64 tries the code",
        ],
    )


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def test_the_code_runs() -> None:
    given = ["--device", "cpu", "--preset", "tiny", "--contexts", "64", "--steps", "2", "--plain"]
    code, lines = ranks.call(benchmark, given)
    assert code == 0 and len(lines) == 1
    assert '"context_length": 64' in lines[0] and '"mfu": null' in lines[0]
