"""Documents of a row do not see each other: a packed document has the logits it has alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.training import ranks
from training.model.presets import PRESETS

LENGTHS = (5, 1, 17, 9)


def differences(preset: str, change: str) -> dict[str, float]:
    """Largest difference of each document's logits to those it has alone, and what another first document
    changes in the later ones."""
    import numpy as np
    import torch

    from training.model import documents

    torch.manual_seed(1)
    model = _model(preset)
    tokens = torch.randint(0, 384, (2, sum(LENGTHS)))
    positions = np.stack([np.concatenate([np.arange(length) for length in LENGTHS])] * 2)
    if change == "without the mask":
        documents.mask = lambda positions: None  # type: ignore[assignment, return-value]
    if change.startswith("flash"):
        fake_flash(sum(LENGTHS) if change == "flash, compiled" else max(LENGTHS))
    apart = documents.keep_apart(
        None if change == "off" else positions,
        torch.device("cpu"),
        flash=change.startswith("flash"),
        compiled=change == "flash, compiled",
    )
    packed = model(input_ids=tokens, **apart).logits
    other = tokens.clone()
    other[:, : LENGTHS[0]] = (other[:, : LENGTHS[0]] + 1) % 384
    moved = model(input_ids=other, **apart).logits
    found = {"reach": float((packed - moved)[:, LENGTHS[0] :].abs().max())}
    start = 0
    for number, length in enumerate(LENGTHS):
        alone = model(input_ids=tokens[:, start : start + length]).logits
        found[f"document {number}"] = float((packed[:, start : start + length] - alone).abs().max())
        start += length
    return found


def _model(preset: str) -> Any:
    import torch

    from training.model.build import build
    from training.model.values import allocate, initialise

    shape = PRESETS[preset].shape
    model = build(shape)
    allocate(model, torch.device("cpu"), torch.device("cpu"))
    initialise(model, shape, 42)
    for parameter in model.parameters():
        parameter.data *= 3  # logits far enough apart to show a leak
    return model.eval()


def fake_flash(longest: int | None, seen: Callable[[Any], Any] = lambda ends: ends) -> None:
    """In place of the GPU's kernel: each document by itself, with the arguments the kernel is called with.
    `seen` makes of the documents' ends what it takes for them."""
    import torch
    from torch.nn.attention import varlen

    def attend(
        query: Any, key: Any, value: Any, ends: Any, ends_k: Any, most: int, most_k: int, **how: Any
    ) -> Any:
        assert how["window_size"] == (-1, 0) and how["enable_gqa"] and most == most_k == (longest or most)
        assert ends.dtype == torch.int32 and ends is ends_k
        parts, ends = [], seen(ends)
        for start, stop in zip(ends.tolist(), ends.tolist()[1:], strict=False):
            q, k, v = (each[start:stop].transpose(0, 1)[None] for each in (query, key, value))
            out = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, scale=how["scale"], enable_gqa=True
            )
            parts.append(out[0].transpose(0, 1))
        return torch.cat(parts)

    varlen.varlen_attn = attend  # type: ignore[assignment]


@pytest.mark.parametrize("preset", ["tiny", "tiny-llama"])
@pytest.mark.parametrize("way", ["mask", "flash", "flash, compiled"])
def test_a_packed_document_has_the_logits_it_has_alone(preset: str, way: str) -> None:
    found = ranks.call(differences, preset, way)
    assert found.pop("reach") == 0.0  # to the last bit: nothing of another document gets in
    assert max(found.values()) < 2e-5


@pytest.mark.parametrize("change", ["off", "without the mask"])
def test_without_it_they_differ(change: str) -> None:
    """Negative control; without the mask, positions alone start again."""
    found = ranks.call(differences, "tiny", change)
    assert found["reach"] > 1e-2
    assert found["document 0"] < 2e-5 and min(found[f"document {n}"] for n in (2, 3)) > 1e-2


def without_waiting() -> list[float]:
    """The library's look at positions, for which it waits for the GPU, is not taken; nothing else changes."""
    import torch
    from transformers import masking_utils

    model = _model("tiny")
    tokens = torch.randint(0, 384, (1, 20))
    ours = model(input_ids=tokens).logits
    model.config._attn_implementation = "sdpa"
    theirs = model(input_ids=tokens).logits
    model.config._attn_implementation = "documents"
    masking_utils.find_packed_sequence_indices = None
    again = model(input_ids=tokens).logits
    return [float((ours - theirs).abs().max()), float((ours - again).abs().max())]


def test_one_document_goes_the_librarys_way_without_waiting() -> None:
    assert ranks.call(without_waiting) == [0.0, 0.0]


def test_the_mask_by_hand() -> None:
    assert ranks.call(mask_of, [[0, 1, 0, 1]]) == [
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]],
    ]


def mask_of(positions: list[list[int]]) -> Any:
    import torch

    from training.model.documents import mask

    return mask(torch.tensor(positions))[:, 0].int().tolist()
