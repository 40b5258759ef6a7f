"""Whether there are samples enough to train on, and how many are left at the end."""

from __future__ import annotations

from training.data.errors import TooLittleText
from training.data.samples import Samples


def check_suffices(samples: Samples, per_step: int, num_epochs: int, world: int) -> None:
    """A run without a single step would end as done; it must not start. Raises TooLittleText."""
    if samples.holds(per_step, num_epochs):
        return
    available = num_epochs * (samples.num_samples or 0)
    raise TooLittleText(
        f"dataset: {available} samples in {num_epochs} epochs do not fill one step of "
        f"{per_step} samples on {world} ranks",
        "lower context_length, or give a longer text as dataset",
    )


def left_over(samples: Samples, used: int, num_epochs: int) -> int | None:
    """Samples that were not used; None while their number is not known."""
    known = samples.num_samples
    return None if known is None else num_epochs * known - used
