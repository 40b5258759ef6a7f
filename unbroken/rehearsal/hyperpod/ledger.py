"""The shape of one entry in the ledger of emulated behaviours; the entries are in ``ledger_*``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Confidence = Literal["documented", "observed", "inferred"]


@dataclass(frozen=True)
class Behaviour:
    """One thing the real service does and the emulated one does alike, held by exactly one marked test."""

    id: str
    """``HP0xx`` the service, ``HP1xx`` the agents on a node, ``HP2xx`` the rest of AWS."""

    text: str
    source: str
    """Where a stranger can look it up."""

    confidence: Confidence
    """``documented`` by AWS, ``observed`` by others on real clusters, or ``inferred`` by this project."""

    verified_on_aws: str | None = None
    """ISO date of a check against the real service; None: never."""
