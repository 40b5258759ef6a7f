"""The verb `cost`: what a cluster and its job cost, with the date and source of every price."""

from __future__ import annotations

import json
import os
from datetime import date

from unbroken import config
from unbroken.cli import cost_page, output
from unbroken.ops.cost.report import Speed, as_json, report


def show_cost(explicit: str | None, speed: Speed, refresh: bool, as_data: bool) -> None:
    """Print the report, for people or as JSON. ConfigError and CannotRun go to the caller."""
    cluster = config.load(config.find(explicit, os.environ))
    missing = _refreshed(cluster) if refresh else {}
    found = report(cluster, os.environ, date.today(), speed, missing)
    if as_data:
        output.data(json.dumps(as_json(found), indent=2))
    else:
        cost_page.show(found)


def _refreshed(cluster: config.ClusterConfig) -> dict[str, str]:
    """The prices that AWS did not tell; what it told is kept."""
    from unbroken.ops.cost.refresh import refresh  # boto3 only where AWS is asked

    answers, path = refresh(cluster, os.environ, date.today())
    output.talk(f"{len(answers.prices)} prices of {cluster.region} asked for, and kept in {path}\n")
    return answers.missing
