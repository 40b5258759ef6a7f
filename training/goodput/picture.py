"""The account as a picture (SVG): the run from left to right, and in each moment what it went into."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from training.goodput.account import CATEGORIES, Account

COLOURS = {
    "step": "#2a9d5c",
    "data": "#e9c46a",
    "evaluate": "#4a7fb5",
    "save": "#7b6db0",
    "redone": "#c8553d",
    "load": "#8ab6d6",
    "start": "#b9c7d3",
    "end": "#d8dee3",
    "down": "#5b6168",
}
_COLUMNS, _COLUMN, _HEIGHT, _LEFT, _TOP = 240, 3, 120, 20, 48
_WIDTH = 2 * _LEFT + _COLUMNS * _COLUMN
_ROOM = 24  # for the number of an attempt
_LEGEND = _TOP + _HEIGHT + 44


def draw(account: Account, title: str) -> str:
    """The picture's text."""
    height = _LEGEND + 20 * ((len(CATEGORIES) + 2) // 3)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
    head += f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">'
    words = f"{title}: goodput {account.goodput:.1%} of {duration(account.whole)}"
    parts = [
        head,
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="26" font-size="15">{escape(words)}</text>',
        *_columns(account),
        *_marks(account),
        *_legend(account),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def duration(seconds: float) -> str:
    """For a person: 12.3 s, 4 min 5 s, 2 h 10 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def shares(account: Account, columns: int) -> list[dict[str, float]]:
    """Seconds of each category in equal parts of the wall clock; a span's are spread evenly over it."""
    found: list[dict[str, float]] = [{} for _ in range(columns)]
    if account.wall <= 0:
        return found
    width, start = account.wall / columns, account.spans[0].begin
    for span in account.spans:
        length = span.end - span.begin
        first, last = (int((moment - start) / width) for moment in (span.begin, span.end))
        for place in range(max(first, 0), min(last, columns - 1) + 1):
            begin, end = start + place * width, start + (place + 1) * width
            part = (min(end, span.end) - max(begin, span.begin)) / length if length > 0 else 0.0
            for name, spent in span.seconds.items():
                found[place][name] = found[place].get(name, 0.0) + spent * part
    return found


def _columns(account: Account) -> Iterator[str]:
    for place, column in enumerate(shares(account, _COLUMNS)):
        total, bottom = sum(column.values()), float(_TOP + _HEIGHT)
        for name in CATEGORIES:
            height = _HEIGHT * column.get(name, 0.0) / total if total > 0 else 0.0
            if height > 0:
                bottom -= height
                x = _LEFT + place * _COLUMN
                yield (
                    f'<rect x="{x}" y="{bottom:.2f}" width="{_COLUMN}" height="{height:.2f}" '
                    f'fill="{COLOURS[name]}"/>'
                )


def _marks(account: Account) -> Iterator[str]:
    """Where each attempt began, as far as there is room to tell them apart."""
    if account.wall <= 0:
        return
    y, last = _TOP + _HEIGHT, float("-inf")
    for attempt in account.attempts:
        part = (attempt.begin - account.spans[0].begin) / account.wall
        x = _LEFT + part * _COLUMNS * _COLUMN
        if x - last < _ROOM:
            continue
        last = x
        yield f'<line x1="{x:.1f}" y1="{_TOP - 4}" x2="{x:.1f}" y2="{y + 4}" stroke="black"/>'
        yield f'<text x="{x + 3:.1f}" y="{y + 16}">{attempt.number}</text>'


def _legend(account: Account) -> Iterator[str]:
    seconds = account.seconds
    for place, (name, words) in enumerate(CATEGORIES.items()):
        x, y = _LEFT + (place % 3) * (_COLUMNS * _COLUMN // 3), _LEGEND + 20 * (place // 3)
        part = seconds[name] / account.whole if account.whole > 0 else 0.0
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{COLOURS[name]}"/>'
        yield f'<text x="{x + 18}" y="{y}">{escape(words)}: {part:.1%}</text>'
