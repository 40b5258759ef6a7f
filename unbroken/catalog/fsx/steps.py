"""Sizes that come in steps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """A few first sizes, then every multiple of ``step``."""

    step: int
    first: tuple[int, ...] = ()
    """Sizes below the multiples; without any, the smallest size is one step."""
    most: int | None = None
    """The largest, where a source names one."""

    def __contains__(self, value: object) -> bool:
        """Whether ``value`` is one of the sizes."""
        if not isinstance(value, int) or (self.most is not None and value > self.most):
            return False
        return value in self.first or (value >= self.step and value % self.step == 0)

    def problem(self, value: int) -> tuple[int, ...]:
        """Empty where ``value`` is offered, otherwise the nearest sizes below and above that are."""
        if value in self:
            return ()
        multiples = [value // self.step * self.step, (value // self.step + 1) * self.step]
        offered = sorted(size for size in (*self.first, *multiples, self.most) if size and size in self)
        below = [size for size in offered if size < value][-1:]
        return (*below, *[size for size in offered if size > value][:1])

    def __str__(self) -> str:
        """The rule in words, for messages: ``1200 or a multiple of 2400``."""
        first = f"{', '.join(str(size) for size in self.first)} or " if self.first else ""
        return f"{first}a multiple of {self.step}" + (f" up to {self.most}" if self.most else "")
