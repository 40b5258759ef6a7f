"""How the answer of `cost` looks on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from unbroken.catalog.prices import HOURS_A_MONTH, STALE_DAYS, Price
from unbroken.checks.result import counted
from unbroken.cli import output
from unbroken.ops.cost.estimate import Line, Standing, Total
from unbroken.ops.cost.report import Report
from unbroken.ops.cost.run import RunCost

NARROW = 80
"""Below this width the tables have fewer columns."""
_NAME = 18
"""As wide as the controller group's usual name."""


def show(found: Report) -> None:
    """Print the report on stdout."""
    colour = output.colour_wanted(sys.stdout)
    console = Console(width=output.width(), force_terminal=colour, highlight=False, markup=False, emoji=False)
    with console.capture() as page:
        for part in _parts(found, console.width < NARROW):
            console.print(part)
    output.data("\n".join(line.rstrip() for line in page.get().splitlines()))


def _parts(found: Report, narrow: bool) -> Iterator[str | Table]:
    yield f"{found.cluster} in {found.estimate.region}: US dollars, on demand, before tax\n"
    yield _items(found, narrow)
    yield ""
    yield _totals(found, narrow)
    yield from (*_notes(found), *_job(found), *_sources(found))


def _table(narrow: bool, *columns: str) -> Table:
    """Columns of money are flush right and never broken; the first one keeps names in one piece."""
    table = Table(box=None, pad_edge=False, padding=(0, 1 if narrow else 2, 0, 0), header_style="bold")
    for name in columns:
        flush = name.startswith("$")
        table.add_column(name, justify="right" if flush else "left", no_wrap=flush, overflow="fold")
    table.columns[0].min_width = _NAME
    return table


def _items(found: Report, narrow: bool) -> Table:
    table = _table(narrow, "what", "how much", *([] if narrow else ["$/hour"]), "$/month", "price")
    numbers = {price: number for number, price in enumerate(_numbered(found), 1)}
    before = ""
    for line in found.estimate.lines:
        hour, month = _money(line)
        what = line.item.what if line.item.what != before else ""
        before = line.item.what
        told = _told(line, found.estimate.region, numbers)
        table.add_row(what, line.item.detail, *([] if narrow else [hour]), month, told)
    return table


def _money(line: Line) -> tuple[str, str]:
    if line.usd_per_hour is None:
        word = "prepaid" if line.standing is Standing.PREPAID else "unknown"
        return word, word
    return money(line.usd_per_hour), money(line.usd_per_hour * HOURS_A_MONTH)


def money(usd: float) -> str:
    """Cents below a thousand dollars, four digits below ten cents."""
    if usd and usd < 0.1:
        return f"{usd:.4f}"
    return f"{usd:,.2f}" if usd < 1000 else f"{usd:,.0f}"


def _numbered(found: Report) -> list[tuple[str, str]]:
    """Sources and days in the order in which the lines use them."""
    return list(dict.fromkeys(_source(price) for price in found.prices))


def _source(price: Price) -> tuple[str, str]:
    return price.day.isoformat(), price.source


def _told(line: Line, region: str, numbers: dict[tuple[str, str], int]) -> str:
    """Where a line's price is from, and what is wrong with it."""
    if line.price is None or line.standing is Standing.UNKNOWN:
        return ""
    words = [f"[{numbers[_source(line.price)]}]"]
    if line.price.region != region:
        words.append(line.price.region)
    if line.standing is Standing.STALE:
        words.append("old")
    return " ".join(words)


def _totals(found: Report, narrow: bool) -> Table:
    table = _table(narrow, "in all", "", "$/hour", *([] if narrow else ["$/day"]), "$/month")
    rows = (
        ("up, with or without a job", found.estimate.up),
        ("cluster deleted, other stacks kept", found.estimate.without_cluster),
        ("after unbroken down", found.estimate.after_down),
    )
    for name, total in rows:
        sums = [total.usd_per_hour, *([] if narrow else [total.usd_per_day]), total.usd_per_month]
        shown = ["unknown"] * len(sums) if total.unknown else [money(usd) for usd in sums]
        table.add_row(name, "" if total.unknown else total.words, *shown)
    return table


def _notes(found: Report) -> Iterator[str]:
    yield f"\nNodes are billed while they exist, idle or not. A month has {HOURS_A_MONTH} hours."
    yield (
        "On top, by use: "
        + "; ".join(f"{each.what} ({each.measure})" for each in found.estimate.by_use)
        + "."
    )
    lines = found.estimate.lines
    if any(line.standing is Standing.UNKNOWN for line in lines):
        yield "Unknown prices are in no sum, which then is a least. --refresh asks AWS for today's prices."
    if any(line.standing is Standing.PREPAID for line in lines):
        yield "Prepaid nodes are in no sum: their training plan has its own price."
    if found.missing:
        yield "Not found: " + "; ".join(f"{key} ({why})" for key, why in found.missing.items()) + "."
    if found.budget_usd is not None:
        yield _budget(found.budget_usd, found.estimate.up)


def _budget(budget: float, up: Total) -> str:
    """The budget beside a month of the cluster."""
    if up.unknown:
        return f"Budget: {budget:,.0f} a month; what the cluster costs is unknown."
    part = " ".join([*up.words.split(), f"{up.usd_per_month / budget:.0%}"])
    return f"Budget: {budget:,.0f} a month; the cluster up all month is {part} of it."


def _job(found: Report) -> Iterator[str]:
    job = found.job
    yield (
        f"\nJob: {counted(job.steps, 'step')} of {job.tokens_per_step:,} tokens on "
        f"{counted(job.ranks, 'rank')}, {job.tokens:,} tokens at most."
    )
    if found.run is None:
        yield "Its cost follows from its speed: give --tokens-per-second (of one rank, measured) or --mfu."
    else:
        yield _run(found.run)


def _run(cost: RunCost) -> str:
    speed = f"At {cost.tokens_per_second:,.0f} tokens/s a rank ({cost.basis}), without interruptions:"
    if cost.hour.unknown:
        return f"{speed} {cost.hours:,.1f} hours of a cluster whose price is unknown."
    words = " ".join([*cost.hour.words.split(), f"${money(cost.usd)}"])
    besides = " besides the prepaid nodes" if cost.hour.prepaid else ""
    return (
        f"{speed} {cost.hours:,.1f} hours, {words}{besides} for all that is up meanwhile; "
        f"${money(cost.usd_per_step)} a step, ${money(cost.usd_per_billion_tokens)} a billion tokens."
    )


def _sources(found: Report) -> Iterator[str]:
    if found.prices:
        yield ""
    for number, (day, source) in enumerate(_numbered(found), 1):
        (price, *_) = [each for each in found.prices if _source(each) == (day, source)]
        age = (found.today - price.day).days
        old = f", more than {STALE_DAYS}" if price.stale(found.today) else ""
        yield f"[{number}] {day} ({age} days ago{old}): {source}"
