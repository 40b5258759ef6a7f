"""A measured figure beside its target, and the table of them. Knows nothing of what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    value: float | None
    """None where it was not measured; `unit` then says why."""
    unit: str
    target: float | None = None
    """The most it should be; None where nothing is asked for."""

    @property
    def is_over(self) -> bool:
        return self.value is not None and self.target is not None and self.value > self.target

    def line(self) -> str:
        number = "-" if self.value is None else f"{self.value:.2f}"
        measured = f"{self.name:<52} {number:>8} {self.unit:<5}"
        if self.target is None:
            return measured.rstrip()
        return f"{measured} target {self.target:<4g}  {'OVER' if self.is_over else 'ok'}"


def show(figures: Iterable[Figure]) -> int:
    """Print each as it comes. Returns the exit code: 1 if one is over its target."""
    code = 0
    for figure in figures:
        print(figure.line(), flush=True)
        code = max(code, int(figure.is_over))
    return code
