"""Availability Zone ids."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from unbroken.config.section import refusal


def _zone_id(value: str) -> str:
    if not re.fullmatch(r"[a-z]{3,6}\d-(az|[a-z0-9]+-az)\d{1,2}", value):
        raise refusal(
            "is not an Availability Zone id",
            "use the id (usw2-az4), not the name (us-west-2d), which differs from account to account",
        )
    return value


ZoneId = Annotated[str, AfterValidator(_zone_id)]
