"""The whole answer of ``unbroken cost``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from unbroken.catalog.prices import HOURS_A_MONTH, Price, unit
from unbroken.config import ClusterConfig
from unbroken.ops.cost import kept_prices, run
from unbroken.ops.cost.estimate import Estimate, Line, Total, estimate
from unbroken.ops.errors import CannotRun


@dataclass(frozen=True)
class Report:
    """What a cluster costs, what its job costs, and what was planned for."""

    cluster: str
    today: date
    estimate: Estimate
    job: run.Budget
    run: run.RunCost | None
    """None where no speed was given."""
    budget_usd: float | None
    """A month's, from the cluster file."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Prices that were asked for in vain, and why."""

    @property
    def prices(self) -> list[Price]:
        """The prices used, each once, in the lines' order."""
        return list(dict.fromkeys(line.price for line in self.estimate.lines if line.price is not None))


@dataclass(frozen=True)
class Speed:
    """How fast the job goes, if somebody knows."""

    tokens_per_second: float | None = None
    """Of one rank, measured."""
    mfu: float | None = None
    """Expected part of the GPUs' peak."""


NO_SPEED = Speed()


def report(
    config: ClusterConfig,
    env: Mapping[str, str],
    today: date,
    speed: Speed = NO_SPEED,
    missing: Mapping[str, str] | None = None,
) -> Report:
    """The report on a cluster file, with the prices there are. CannotRun as ``run`` and ``kept_prices``."""
    found = estimate(config, kept_prices.known(env), today)
    return Report(
        cluster=config.name,
        today=today,
        estimate=found,
        job=run.budget(config),
        run=_run(config, found.up, speed),
        budget_usd=config.budget.monthly_usd if config.budget else None,
        missing=missing or {},
    )


def _run(config: ClusterConfig, hour: Total, speed: Speed) -> run.RunCost | None:
    if speed.tokens_per_second is not None and speed.mfu is not None:
        raise CannotRun("the job has one speed, and two are given", "leave out --mfu or --tokens-per-second")
    if speed.tokens_per_second is not None:
        return run.at_speed(config, hour, speed.tokens_per_second)
    return None if speed.mfu is None else run.at_utilization(config, hour, speed.mfu)


def as_json(report: Report) -> dict[str, Any]:
    """The shape of --json, version 1."""
    found = report.estimate
    return {
        "schema_version": 1,
        "cluster": report.cluster,
        "region": found.region,
        "day": report.today.isoformat(),
        "currency": "USD",
        "hours_a_month": HOURS_A_MONTH,
        "items": [_line(line, report.today) for line in found.lines],
        "totals": {
            "up": _total(found.up),
            "cluster_deleted": _total(found.without_cluster),
            "after_down": _total(found.after_down),
        },
        "by_use": [{"what": each.what, "measure": each.measure} for each in found.by_use],
        "budget_monthly_usd": report.budget_usd,
        "job": _job(report),
        "not_found": dict(report.missing),
    }


def _line(line: Line, today: date) -> dict[str, Any]:
    item, price = line.item, line.price
    told = None if price is None else {
        "usd": price.usd, "per": unit(price.key), "region": price.region,
        "day": price.day.isoformat(), "age_days": (today - price.day).days, "source": price.source,
    }  # fmt: skip
    return {
        "what": item.what,
        "detail": item.detail,
        "key": item.key,
        "count": item.count,
        "until": item.until.value,
        "standing": line.standing.name.lower(),
        "usd_per_hour": line.usd_per_hour,
        "price": told,
    }


def _total(total: Total) -> dict[str, Any]:
    return {
        "usd_per_hour": total.usd_per_hour,
        "usd_per_day": total.usd_per_day,
        "usd_per_month": total.usd_per_month,
        "at_least": total.at_least,
        "about": total.about,
        "prepaid_besides": total.prepaid,
    }


def _job(report: Report) -> dict[str, Any]:
    job, cost = report.job, report.run
    known = {
        "ranks": job.ranks,
        "steps": job.steps,
        "tokens_per_step": job.tokens_per_step,
        "tokens": job.tokens,
    }
    if cost is None:
        return known | {"run": None}
    return known | {
        "run": {
            "tokens_per_second_per_rank": cost.tokens_per_second,
            "basis": cost.basis,
            "hours": cost.hours,
            "usd": cost.usd,
            "usd_per_step": cost.usd_per_step,
            "usd_per_billion_tokens": cost.usd_per_billion_tokens,
            "at_least": cost.hour.at_least,
            "about": cost.hour.about,
            "prepaid_besides": cost.hour.prepaid,
        }
    }
