"""CloudWatch metrics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from unbroken.aws.session import Session


class CloudWatch:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def newest(
        self, namespace: str, metric: str, dimensions: Mapping[str, str], minutes: int = 15
    ) -> float | None:
        """The metric's newest one-minute maximum within the last minutes; None where there is none."""
        end = datetime.now(timezone.utc)
        found = self._session.ask(
            "cloudwatch",
            "get_metric_statistics",
            f"metric {metric}",
            Namespace=namespace,
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
            StartTime=end - timedelta(minutes=minutes),
            EndTime=end,
            Period=60,
            Statistics=["Maximum"],
        )
        points = sorted(found["Datapoints"], key=lambda point: point["Timestamp"])
        return float(points[-1]["Maximum"]) if points else None
