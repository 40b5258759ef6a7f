"""The cluster file's ``budget`` section: an AWS Budgets alarm. It warns; it stops nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from unbroken.config.section import Fault, Section, refusal


def _email(value: str) -> str:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", value) or len(value) > 50:
        raise refusal("is not an e-mail address AWS Budgets takes", "use an address such as team@example.com")
    return value


class BudgetConfig(Section):
    """A monthly budget over everything tagged with this cluster's name."""

    monthly_usd: Annotated[float, Field(gt=0)]
    """US dollars a month."""
    emails: Annotated[list[Annotated[str, AfterValidator(_email)]], Field(min_length=1, max_length=10)]
    """Who is told."""
    thresholds_percent: Annotated[
        list[Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1, max_length=5)
    ] = Field(default_factory=lambda: [50, 80, 100])
    """Parts of the budget at which they are told."""

    def faults(self) -> Iterator[Fault]:
        """AWS Budgets refuses a notification that is there already."""
        for field in ("emails", "thresholds_percent"):
            values = getattr(self, field)
            if len(set(values)) < len(values):
                yield Fault((field,), values, "has an entry twice", "name each once")
