"""Service quotas: how much of each thing an account may have in a region."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unbroken.aws.session import AwsError, Session


class Quotas:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def applied(self, service: str) -> dict[str, float]:
        """Values by name. Quotas that nobody ever changed may be missing: their defaults apply."""
        return self._listed(service, "list_service_quotas")

    def defaults(self, service: str) -> dict[str, float]:
        """AWS's default values by name."""
        return self._listed(service, "list_aws_default_service_quotas")

    def value(self, service: str, code: str) -> float | None:
        """One quota by its code; None where AWS knows none by that code."""
        about = f"quota {code} of {service}"
        for operation in ("get_service_quota", "get_aws_default_service_quota"):
            try:
                found = self._session.ask(
                    "service-quotas", operation, about, ServiceCode=service, QuotaCode=code
                )
            except AwsError as error:
                if error.code != "NoSuchResourceException":
                    raise
            else:
                return _value(found["Quota"])
        return None

    def _listed(self, service: str, operation: str) -> dict[str, float]:
        found = self._session.ask_all(
            "service-quotas", operation, "Quotas", f"quotas of {service}", ServiceCode=service
        )
        return dict(_named(found))


def _named(quotas: Iterable[dict[str, Any]]) -> Iterable[tuple[str, float]]:
    for quota in quotas:
        value = _value(quota)
        if value is not None:
            yield quota["QuotaName"], value


def _value(quota: dict[str, Any]) -> float | None:
    """None where Service Quotas has an error in place of the value."""
    return None if "ErrorReason" in quota else quota.get("Value")
