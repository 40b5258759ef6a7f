"""Geometry of the report page's timelines: from report.json to coordinates. The drawing is the template's.

Coordinates are SVG user units; times are seconds since the rehearsal began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbroken.render.report_axes import RIGHT, Canvas, Tick, seconds, ticks

TOP = 66.0
"""Where the first lane begins; the marks' numbers stand above."""
LANE = 30.0
BAR = 18.0
CHARACTER = 6.4
"""Width of a character of a bar's label, about."""

PIN_WIDTH, PIN_HEIGHT = 19.0, 20.0
"""Of a mark's number, with the room around it."""
NARROW = 2.5
"""Bars shorter than this would not be seen."""
CLOSE_UP_BEFORE_SECONDS = 3.0
CLOSE_UP_AFTER_SECONDS = 3.0

STATUS_CLASSES = {
    "Running": "good",
    "Pending": "wait",
    "SystemUpdating": "wait",
    "DeepHealthCheckInProgress": "wait",
    "Failure": "bad",
    "ShuttingDown": "gone",
}


@dataclass(frozen=True)
class Bar:
    """A stretch of time in a lane."""

    x: float
    width: float
    kind: str
    """CSS class."""
    label: str
    """Shown where it fits."""
    title: str
    """Read out, and shown on hovering."""


@dataclass(frozen=True)
class Lane:
    """A row of bars."""

    y: float
    name: str
    note: str
    bars: list[Bar]


@dataclass(frozen=True)
class Pin:
    """A numbered moment."""

    x: float
    number: int
    kind: str
    title: str
    level: int
    """Row of its number, so that near ones do not cover each other."""


@dataclass(frozen=True)
class Timeline:
    """Lanes over a common axis of time."""

    canvas: Canvas
    height: float
    lanes: list[Lane]
    ticks: list[Tick]
    pins: list[Pin]
    summary: str


def whole(report: Mapping[str, Any], canvas: Canvas) -> Timeline:
    """The timeline of the whole rehearsal."""
    scale = _Scale(canvas, 0.0, max(float(report["seconds"]), 1.0))
    return _timeline(report, scale, with_stages=True)


def close_up(report: Mapping[str, Any], canvas: Canvas) -> Timeline | None:
    """The timeline around the faults and the recovery from them; None without a fault."""
    marks = report["marks"]
    if not marks:
        return None
    start = max(0.0, min(mark["at_s"] for mark in marks) - CLOSE_UP_BEFORE_SECONDS)
    end = min(float(report["seconds"]), max(mark["at_s"] for mark in marks) + CLOSE_UP_AFTER_SECONDS)
    return _timeline(report, _Scale(canvas, start, max(end, start + 1.0)), with_stages=False)


def _timeline(report: Mapping[str, Any], scale: _Scale, *, with_stages: bool) -> Timeline:
    rows = [("stages", "", _stage_bars(report, scale))] if with_stages else []
    rows += [(node["name"], node["group"], _node_bars(node, scale)) for node in report["nodes"]]
    rows.append(("job", report["job"]["id"], _job_bars(report["job"], scale)))
    lanes = [Lane(TOP + i * LANE, name, note, bars) for i, (name, note, bars) in enumerate(rows)]
    return Timeline(
        canvas=scale.canvas,
        height=TOP + len(lanes) * LANE + 30,
        lanes=lanes,
        ticks=ticks(scale.start, scale.end, scale, "{:g} s", scale.canvas.num_ticks),
        pins=_pins(report["marks"], scale),
        summary=_summary(report),
    )


@dataclass(frozen=True)
class _Scale:
    """From seconds to x."""

    canvas: Canvas
    start: float
    end: float

    def __call__(self, at: float) -> float:
        room = self.canvas.width - self.canvas.names - RIGHT
        return round(self.canvas.names + (at - self.start) / (self.end - self.start) * room, 1)

    def bar(self, start: float, end: float, kind: str, label: str, title: str) -> Bar | None:
        """The part of a stretch that can be seen; None if there is none."""
        if end < self.start or start > self.end:
            return None
        x, right = self(max(start, self.start)), self(min(end, self.end))
        width = max(NARROW, right - x)
        fits = len(label) * CHARACTER + 8 <= width
        return Bar(x, round(width, 1), kind, label if fits else "", title)


def _seen(bars: Sequence[Bar | None]) -> list[Bar]:
    return [bar for bar in bars if bar is not None]


def _stage_bars(report: Mapping[str, Any], scale: _Scale) -> list[Bar]:
    return _seen(
        [
            scale.bar(
                stage["start_s"],
                stage["start_s"] + stage["seconds"],
                ("stage" if index % 2 else "stage other") if stage["ok"] else "bad",
                stage["name"],
                f"{stage['title']}: {seconds(stage['seconds'])}{'' if stage['ok'] else ', failed'}",
            )
            for index, stage in enumerate(report["stages"])
        ]
    )


def _node_bars(node: Mapping[str, Any], scale: _Scale) -> list[Bar]:
    return _seen(
        [
            scale.bar(
                span["start_s"],
                span["end_s"],
                STATUS_CLASSES.get(span["status"], "other"),
                span["status"],
                f"{span['status']} for {seconds(span['end_s'] - span['start_s'])} ({span['instance_id']})",
            )
            for span in node["spans"]
        ]
    )


def _job_bars(job: Mapping[str, Any], scale: _Scale) -> list[Bar]:
    return _seen(
        [
            scale.bar(
                attempt["start_s"],
                attempt["end_s"],
                f"attempt a{index % 3}",
                f"steps {attempt['first_step']}-{attempt['last_step']}",
                f"attempt {index + 1}: steps {attempt['first_step']} to {attempt['last_step']}",
            )
            for index, attempt in enumerate(job["attempts"])
        ]
    )


def _pins(marks: Sequence[Mapping[str, Any]], scale: _Scale) -> list[Pin]:
    """The marks that can be seen, numbered; those close together on rows of their own."""
    pins: list[Pin] = []
    for number, mark in enumerate(marks, start=1):
        if scale.start <= mark["at_s"] <= scale.end:
            x = scale(mark["at_s"])
            near = {pin.level for pin in pins if x - pin.x < PIN_WIDTH}
            level = min({0, 1, 2} - near, default=0)
            title = f"{mark['label']} ({mark['node']}) at {seconds(mark['at_s'])}"
            pins.append(Pin(x, number, mark["kind"], title, level))
    return pins


def _summary(report: Mapping[str, Any]) -> str:
    """What the picture shows, for those who do not see it."""
    moments = [f"{mark['label']} at {seconds(mark['at_s'])}" for mark in report["marks"]]
    told = f"{len(report['stages'])} stages and {len(report['nodes'])} nodes over {report['seconds']:.0f} s"
    return "; ".join([told, *moments])
