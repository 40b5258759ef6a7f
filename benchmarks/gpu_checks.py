"""Whether what was only tried on CPUs is right on a GPU: attention inside documents, offloading, a resume.

The numbers are not equal there, since kernels add in another order; each target is far below what a fault
makes of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.figures import Figure
from benchmarks.packed import Place, forget, metrics
from training.data.batch import Batch
from training.loop import Trainer
from training.model.documents import has_flash, keep_apart

SAVED_AT, LAST_STEP = 4, 6


def checks(place: Place, shape: dict[str, Any]) -> Iterator[Figure]:
    """Each check with its target; `shape` are the settings of the model to check with."""
    yield attention(place, shape)
    forget(place.device)
    yield offloading(place, shape)
    forget(place.device)
    yield resume(place)
    forget(place.device)


def attention(place: Place, shape: dict[str, Any]) -> Figure:
    """Flash attention, document by document, beside attention with a mask."""
    name = "check: logits by flash attention and by a mask"
    ours = place.built("attention", **shape)
    if not has_flash(ours.chosen.shape, ours.config, place.device):
        return Figure(name, None, "not measured: no flash attention here")
    batch = _batch(ours)
    with torch.no_grad():
        flash, masked = (_logits(ours, batch, flash=flash) for flash in (True, False))
    return Figure(name, float((flash - masked).std() / masked.std()), "x", 0.05)


def _batch(ours: Trainer) -> Batch:
    """The first one that more than one document is in."""
    steps = itertools.count()
    batches = (batch for step in steps for batch in ours.feed.batches(step * ours.feed.per_step))
    return next(batch for batch in batches if batch.positions is not None)


def _logits(ours: Trainer, batch: Batch, *, flash: bool) -> torch.Tensor:
    ids = torch.from_numpy(batch.ids[:, :-1]).to(ours.device)
    apart = keep_apart(batch.positions, ours.device, flash=flash, compiled=False)
    logits: torch.Tensor = ours.stepper.model.eval()(input_ids=ids, **apart).logits
    return logits.float()


def offloading(place: Place, shape: dict[str, Any]) -> Figure:
    """Gradients of one batch with saved activations moved to the host's memory and without."""
    moved, kept = (_gradients(place, shape, offload=offload) for offload in (True, False))
    difference = float((moved - kept).norm() / kept.norm())
    return Figure("check: gradients with and without offloading", difference, "x", 0.01)


def _gradients(place: Place, shape: dict[str, Any], *, offload: bool) -> torch.Tensor:
    ours = place.built(f"offloading-{offload}", activation_offloading=offload, **shape)
    loss: Any = ours.stepper.loss(_batch(ours))
    loss.backward()
    gradients: list[Any] = [parameter.grad for parameter in ours.stepper.model.parameters()]
    return torch.cat([each.full_tensor().flatten().cpu() for each in gradients])


def resume(place: Place) -> Figure:
    """Losses of the steps after a checkpoint, in the run that made it and in one that starts from it."""
    job = {"preset": "tiny", "context_length": 64, "num_steps": LAST_STEP, "checkpoint_every": SAVED_AT}
    first = place.trainer("saved", **job)
    first.run()
    saved = first.attempt.directory / "checkpoints" / f"step-{SAVED_AT:08d}"
    second = place.trainer("resumed", **job, resume_from=str(saved))
    second.run()
    losses = ([line["loss"] for line in metrics(each) if line["step"] > SAVED_AT] for each in (first, second))
    differences = [abs(one - other) / one for one, other in zip(*losses, strict=True)]
    return Figure("check: losses after a resume", max(differences), "x", 0.01)
