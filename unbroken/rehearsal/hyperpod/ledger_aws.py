"""Ledger entries for the rest of AWS as the embedded AWS plays it (ids HP2xx)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour

AWS_BEHAVIOURS: list[Behaviour] = []
