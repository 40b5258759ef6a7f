"""Whether there are samples enough to train on, and how many are left at the end."""

from __future__ import annotations

from training.data.errors import TooLittleText
from training.data.samples import Samples
from training.words import counted


def check_suffices(samples: Samples, per_step: int, num_epochs: int, world: int) -> None:
    """A run without a single step would end as done; it must not start. Raises TooLittleText."""
    if samples.holds(per_step, num_epochs):
        return
    available = num_epochs * (samples.num_samples or 0)
    raise TooLittleText(
        f"dataset: {counted(available, 'sample')} in {counted(num_epochs, 'epoch')} cannot fill one step of "
        f"{per_step:,} on {counted(world, 'rank')}",
        "lower context_length, or give a longer text as dataset",
    )


def left_over(samples: Samples, used: int, num_epochs: int) -> int | None:
    """Samples that were not used; None while their number is not known."""
    known = samples.num_samples
    return None if known is None else num_epochs * known - used
