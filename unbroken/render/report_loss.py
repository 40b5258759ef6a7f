"""Geometry of the loss curve: from report.json to coordinates. The drawing itself is the template's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from unbroken.render.report_axes import RIGHT, Canvas, Tick, ticks

LEFT, TOP, HEIGHT, BOTTOM = 56.0, 28.0, 300.0, 36.0


@dataclass(frozen=True)
class Curve:
    """One attempt's part of the loss curve."""

    path: str
    kind: str
    dots: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class LossFigure:
    """The loss over the steps."""

    canvas: Canvas
    height: float
    curves: list[Curve]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    resumes: list[Tick]
    summary: str


def loss(report: Mapping[str, Any], canvas: Canvas) -> LossFigure | None:
    """The loss curve, an attempt a line; None without steps."""
    steps, values = report["loss"]["steps"], report["loss"]["values"]
    if not steps:
        return None
    x, y = _axes(steps, values, canvas.width)
    cuts = [0, *report["loss"]["resumed_at"], len(steps)]
    curves = []
    for index, (begin, end) in enumerate(pairwise(cuts)):
        points = [(x(s), y(v)) for s, v in zip(steps[begin:end], values[begin:end], strict=True)]
        curves.append(Curve("M" + " L".join(f"{a},{b}" for a, b in points), f"a{index % 3}", points))
    low, high = min(values), max(values)
    places = ticks(min(steps), max(steps), x, "{:.0f}", canvas.num_ticks) if max(steps) > min(steps) else []
    return LossFigure(
        canvas=canvas,
        height=HEIGHT,
        curves=curves,
        x_ticks=places,
        y_ticks=ticks(low, high, y, "{:g}", wanted=7) if high > low else [],
        resumes=[Tick(x(steps[i]), f"resumed at step {steps[i]}") for i in report["loss"]["resumed_at"]],
        summary=_loss_summary(report["loss"]),
    )


Place = Callable[[float], float]


def _axes(steps: Sequence[int], values: Sequence[float], width: float) -> tuple[Place, Place]:
    first, last = min(steps), max(max(steps), min(steps) + 1)
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or 0.5

    def x(step: float) -> float:
        return round(LEFT + (step - first) / (last - first) * (width - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        share = (value - low + margin) / (high - low + 2 * margin)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    return x, y


def _loss_summary(loss: Mapping[str, Any]) -> str:
    told = f"loss {loss['values'][0]:.4f} at step {loss['steps'][0]} to {loss['values'][-1]:.4f} at step "
    told += f"{loss['steps'][-1]}"
    resumed = [f"resumed at step {loss['steps'][index]}" for index in loss["resumed_at"]]
    return ", ".join([told, *resumed])
