"""Ledger entries for what the agents on a node do (ids HP1xx)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour

AGENT_BEHAVIOURS: list[Behaviour] = []
