"""Ledger entries for what the HyperPod service itself does (ids HP0xx)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour

SERVICE_BEHAVIOURS: list[Behaviour] = []
