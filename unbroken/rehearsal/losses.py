"""The report's view of training: attempts, the loss of every step, and whether repeated steps agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from unbroken.rehearsal.report_model import Attempt, Loss

# On the same number of CPU ranks a repeated step gives the same loss to the last bit; the allowance is for
# what the trainer rounds when it writes the number.
TOLERANCE = 1e-6


def split_attempts(metrics: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The metrics cut where a new attempt begins: another attempt number, or a step that is not the next."""
    cut: list[list[Mapping[str, Any]]] = []
    for line in metrics:
        if cut and line["attempt"] == cut[-1][-1]["attempt"] and line["step"] > cut[-1][-1]["step"]:
            cut[-1].append(line)
        else:
            cut.append([line])
    return cut


def attempts(metrics: Sequence[Mapping[str, Any]], zero: float) -> list[Attempt]:
    """Each attempt's first and last step with their times, in seconds since `zero`."""
    return [
        Attempt(
            attempt=int(part[0]["attempt"]),
            start_s=round(part[0]["t"] - zero, 1),
            end_s=round(part[-1]["t"] - zero, 1),
            first_step=int(part[0]["step"]),
            last_step=int(part[-1]["step"]),
        )
        for part in split_attempts(metrics)
    ]


def loss(metrics: Sequence[Mapping[str, Any]]) -> Loss:
    """The loss of every step in the order of the file, and how far steps done twice are apart."""
    parts = split_attempts(metrics)
    starts = [sum(len(part) for part in parts[:index]) for index in range(1, len(parts))]
    differences = [difference for pair in pairwise(parts) for difference in _differences(*pair)]
    worst = max(differences, default=None)
    return Loss(
        steps=[int(line["step"]) for line in metrics],
        values=[float(line["loss"]) for line in metrics],
        resumed_at=starts,
        compared_steps=len(differences),
        max_relative_difference=worst,
        matches_undisturbed=None if worst is None else worst <= TOLERANCE,
    )


def _differences(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[float]:
    """The relative difference of every step that both attempts did."""
    old = {line["step"]: float(line["loss"]) for line in before}
    both = [(old[line["step"]], float(line["loss"])) for line in after if line["step"] in old]
    return [abs(a - b) / max(abs(a), abs(b), 1e-12) for a, b in both]
