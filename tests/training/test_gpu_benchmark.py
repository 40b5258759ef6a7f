"""The benchmark for one GPU says that there is none; what it does is tried on a CPU."""

from __future__ import annotations

import re
from typing import Any

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
    figures = [line for line in lines if line.startswith(("check: ", "64 tokens"))]
    attention, *others, speed = figures
    assert code == 0, lines
    assert attention.endswith("not measured: no flash attention here")
    assert [line.split()[-5:] for line in others] == [["0.00", "x", "target", "0.01", "ok"]] * 2
    assert re.fullmatch(r"64 tokens: tokens a second +\d+\.\d\d", speed)


def check_of_attention(documents_apart: bool) -> tuple[float, float]:
    """The figure and its target, with a stand-in for the kernel."""
    import torch

    from benchmarks import gpu_checks, packed
    from tests.training.model.test_documents import fake_flash

    def whole_rows(ends: Any) -> Any:
        return torch.tensor([0, ends[-1]], dtype=torch.int32)

    fake_flash(None, (lambda ends: ends) if documents_apart else whole_rows)
    setattr(gpu_checks, "has_flash", lambda *_: True)  # noqa: B010  # in this module only
    with packed.place("cpu", 20_000) as place:
        figure = gpu_checks.attention(place, {"preset": "tiny", "context_length": 256, "precision": "fp32"})
    assert figure.value is not None and figure.target is not None
    return figure.value, figure.target


def test_the_check_of_attention_tells_a_kernel_that_looks_into_other_documents() -> None:
    right, target = ranks.call(check_of_attention, True)
    assert right < target / 1000
    assert ranks.call(check_of_attention, False)[0] > 2 * target
