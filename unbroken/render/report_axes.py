"""What the report page's pictures share: their width, their axes, and how a time is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

RIGHT = 16.0
"""Margin on the right of every picture, in SVG user units."""


@dataclass(frozen=True)
class Canvas:
    """How wide a picture is drawn, in SVG user units. Text keeps its size: a phone gets its own drawing."""

    name: str
    """CSS class."""
    width: float
    names: float
    """Room for the names of a timeline's lanes, on the left."""
    num_ticks: int


WIDE = Canvas("wide", width=1000.0, names=168.0, num_ticks=8)
PHONE = Canvas("phone", width=360.0, names=100.0, num_ticks=4)
CANVASES = (WIDE, PHONE)


@dataclass(frozen=True)
class Tick:
    """A place on an axis."""

    at: float
    label: str


def seconds(value: float | None) -> str:
    """A time as text."""
    return "not seen" if value is None else f"{value:.1f} s"


def nice_step(span: float, wanted: int = 8) -> float:
    """A round distance between ticks: 1, 2 or 5 times a power of ten, about `wanted` of them in the span."""
    if span <= 0:
        return 1.0
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def ticks(low: float, high: float, place: Callable[[float], float], form: str, wanted: int = 8) -> list[Tick]:
    """Round numbers between low and high, at the places that `place` gives them."""
    step = nice_step(high - low, wanted)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [Tick(place(i * step), form.format(i * step)) for i in range(first, last + 1)]
