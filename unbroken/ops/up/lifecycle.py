"""What the nodes' lifecycle scripts say, read from CloudWatch while they run.

HyperPod ships a node's log to the group ``/aws/sagemaker/Clusters/<name>/<cluster id>``, stream
``LifecycleConfig/<group>/<instance id>`` (documented).
"""

from __future__ import annotations

import json
from collections import deque
from datetime import datetime
from typing import Any

from unbroken.aws import Aws
from unbroken.aws.logs import LogLine
from unbroken.ops.nodes_log import log_groups

STREAMS = "LifecycleConfig/"
SUCCEEDED = "The lifecycle scripts succeeded"
"""In the service's own last line of a node that came up (observed)."""
TAIL = 12
"""Lines kept of each node."""


class LifecycleLog:
    """The lines since a moment, by node (``<group>/<instance id>``)."""

    def __init__(self, aws: Aws, cluster: str) -> None:
        self._aws, self._cluster = aws, cluster
        self.began = 0
        """Milliseconds since 1970; 0 while nothing began."""
        self._since = 0
        self._seen: set[str] = set()
        self.tails: dict[str, deque[str]] = {}
        self.failed: dict[str, str] = {}
        """By node, the step that failed and why."""

    def begin(self, moment: datetime) -> None:
        """Leave out what is older; safe to repeat."""
        self.began = int(moment.timestamp() * 1000)
        self._since = max(self._since, self.began)

    def read(self) -> list[str]:
        """What is new, step by step: ``<node>: <step> <result>``."""
        groups = log_groups(self._aws, self._cluster)
        if not groups:
            return []
        lines = self._aws.logs.lines(groups[-1].name, self._since, STREAMS)
        told = [self._take(line) for line in lines if line.id not in self._seen]
        if lines:
            self._since = lines[-1].time
            self._seen = {line.id for line in lines if line.time == self._since}
        return [words for words in told if words]

    def _take(self, line: LogLine) -> str:
        node = line.stream.removeprefix(STREAMS)
        step = step_in(line.text)
        self.tails.setdefault(node, deque(maxlen=TAIL)).append(_words(step) if step else line.text)
        if step and step.get("result") == "failed":
            self.failed.setdefault(node, f"lifecycle step {step['step']}: {step.get('error', 'no message')}")
        return f"{node}: {_words(step)}" if step else ""


def step_in(line: str) -> dict[str, Any] | None:
    """A line of our steps' journal; None for any other line."""
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "step" in record else None


def _words(step: dict[str, Any]) -> str:
    return "  ".join(str(step[key]) for key in ("step", "result", "error") if step.get(key))
