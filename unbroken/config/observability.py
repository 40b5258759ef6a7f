"""The cluster file's ``observability`` section: Amazon Managed Prometheus and Grafana."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator

from unbroken.config.section import Fault, Section, refusal


def _prometheus(value: str) -> str:
    if value not in ("none", "create") and not re.fullmatch(r"ws-[0-9a-f-]{36}", value):
        raise refusal("is neither none, create nor a workspace's id", "use create, or an id such as ws-...")
    return value


def _grafana(value: str) -> str:
    if value not in ("none", "create") and not re.fullmatch(r"g-[0-9a-f]{10}", value):
        raise refusal(
            "is neither none, create nor a workspace's id", "use create, or an id such as g-0123456789"
        )
    return value


class ObservabilityConfig(Section):
    """Where metrics go and where people look at them. In a stack of its own, which cannot fail a cluster."""

    prometheus: Annotated[str, AfterValidator(_prometheus)] = "none"
    """``none``, ``create``, or the id of a workspace: the nodes' role, if made here, may write to it."""
    grafana: Annotated[str, AfterValidator(_grafana)] = "none"
    """``none``, ``create``, or the id of a workspace."""
    grafana_authentication: Literal["AWS_SSO", "SAML"] | None = None
    """How people log in to a created Grafana; AWS_SSO needs IAM Identity Center in the account."""
    metrics_retention_days: Literal[30, 60, 90, 150, 180, 365, 1095] = 150
    """Days that a created Prometheus keeps metrics."""
    deletion: Literal["retain", "delete"] = "delete"
    """What a destroy does with created workspaces."""

    def faults(self) -> Iterator[Fault]:
        """A Grafana needs a way to log in; the rest is said of created workspaces only."""
        if self.grafana == "create" and self.grafana_authentication is None:
            rule = "needs a way for people to log in; AWS makes no Grafana without one"
            hint = "add grafana_authentication: AWS_SSO (with IAM Identity Center) or SAML, or use none"
            yield Fault(("grafana",), self.grafana, rule, hint)
        created = {"prometheus": self.prometheus == "create", "grafana": self.grafana == "create"}
        for field, makes in (
            ("grafana_authentication", created["grafana"]),
            ("metrics_retention_days", created["prometheus"]),
            ("deletion", any(created.values())),
        ):
            if field in self.model_fields_set and not makes and getattr(self, field) is not None:
                rule = "has no effect: no such workspace is created"
                yield Fault((field,), getattr(self, field), rule, "remove it, or use create")
