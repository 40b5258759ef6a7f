"""Workspaces of Amazon Managed Service for Prometheus and Amazon Managed Grafana, and alarms."""

from __future__ import annotations

from collections.abc import Sequence

from unbroken.aws.session import AwsError, Session

MISSING = "ResourceNotFoundException"


class Observability:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prometheus_status(self, workspace: str) -> str | None:
        """ACTIVE, CREATING, ...; None where there is no such workspace."""
        about = f"workspace {workspace}"
        try:
            found = self._session.ask("amp", "describe_workspace", about, workspaceId=workspace)
        except AwsError as error:
            if error.is_(MISSING):
                return None
            raise
        status: str = found["workspace"]["status"]["statusCode"]
        return status

    def grafana_status(self, workspace: str) -> str | None:
        """ACTIVE, CREATING, ...; None where there is no such workspace."""
        about = f"workspace {workspace}"
        try:
            found = self._session.ask("grafana", "describe_workspace", about, workspaceId=workspace)
        except AwsError as error:
            if error.is_(MISSING):
                return None
            raise
        status: str = found["workspace"]["status"]
        return status

    def alarms(self, names: Sequence[str]) -> list[str]:
        """Those of the CloudWatch alarms that there are."""
        found = self._session.ask_all(
            "cloudwatch", "describe_alarms", "MetricAlarms", "alarms", AlarmNames=list(names)
        )
        return [one["AlarmName"] for one in found]
