"""CloudWatch log groups and their lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.aws.session import AwsError, Session

PAGES = 20
"""Pages of lines read at once, of up to 10,000 lines each (API reference, FilterLogEvents)."""


@dataclass(frozen=True)
class LogGroup:
    """A log group."""

    name: str
    arn: str
    """Without the ``:*`` at its end, as tags are asked by."""
    created: int
    """Milliseconds since 1970."""
    retention_days: int | None
    """None: lines are kept for ever."""
    stored_bytes: int


@dataclass(frozen=True)
class LogLine:
    """A line of a log stream."""

    stream: str
    time: int
    """Milliseconds since 1970."""
    text: str
    id: str


class Logs:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def groups(self, prefix: str) -> list[LogGroup]:
        """The groups whose name begins so, the newest last."""
        found = self._session.ask_all(
            "logs", "describe_log_groups", "logGroups", f"log groups {prefix}*", logGroupNamePrefix=prefix
        )
        return sorted((_group(one) for one in found), key=lambda group: group.created)

    def lines(self, group: str, since: int, stream_prefix: str = "") -> list[LogLine]:
        """The lines since a time (milliseconds), oldest first; none for a group that does not exist."""
        more = {"logStreamNamePrefix": stream_prefix} if stream_prefix else {}
        found: list[dict[str, Any]] = []
        token: dict[str, str] = {}
        for _ in range(PAGES):
            try:
                page = self._session.ask(
                    "logs", "filter_log_events", f"log group {group}",
                    logGroupName=group, startTime=since, **more, **token,
                )  # fmt: skip
            except AwsError as error:
                if error.is_("ResourceNotFoundException"):
                    return []
                raise
            found += page.get("events", [])
            if not page.get("nextToken"):
                break
            token = {"nextToken": page["nextToken"]}
        return [_line(one) for one in found if one["logStreamName"].startswith(stream_prefix)]

    def tags(self, arn: str) -> Mapping[str, str]:
        """A group's tags."""
        found = self._session.ask("logs", "list_tags_for_resource", f"log group {arn}", resourceArn=arn)
        return dict(found.get("tags", {}))

    def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Put tags on a group."""
        self._session.ask("logs", "tag_resource", f"log group {arn}", resourceArn=arn, tags=dict(tags))

    def set_retention(self, group: str, days: int) -> None:
        """Have the group's lines expire."""
        about = f"log group {group}"
        self._session.ask("logs", "put_retention_policy", about, logGroupName=group, retentionInDays=days)

    def delete(self, group: str) -> None:
        """Delete a group with all its lines."""
        self._session.ask("logs", "delete_log_group", f"log group {group}", logGroupName=group)


def _group(found: Mapping[str, Any]) -> LogGroup:
    return LogGroup(
        name=found["logGroupName"],
        arn=found["arn"].removesuffix(":*"),
        created=found.get("creationTime", 0),
        retention_days=found.get("retentionInDays"),
        stored_bytes=found.get("storedBytes", 0),
    )


def _line(found: Mapping[str, Any]) -> LogLine:
    return LogLine(
        found["logStreamName"], found["timestamp"], found["message"].rstrip("\n"), found["eventId"]
    )
