"""Stand-ins for the outside of the verbs; each raises on what it does not know."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unbroken.ops.rehearse.cluster import Cluster, Node

CONTROLLER = Node("ip-10-0-0-10", "head", "10.0.0.10", "i-0", 11, "Running")
WORKERS = [Node(f"ip-10-0-0-1{i}", "work", f"10.0.0.1{i}", f"i-{i}", 11 + i, "Running") for i in (1, 2)]


@dataclass
class Screen:
    """A display that remembers."""

    lines: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.lines.append(text)

    def stage_started(self, title: str) -> None:
        self.lines.append(f"start {title}")

    def detail(self, text: str) -> None:
        self.lines.append(f"detail {text}")

    def stage_ended(self, title: str, ok: bool, seconds: float, note: str) -> None:
        self.lines.append(f"end {title} {ok} {seconds:g} {note}".rstrip())


class FakeCluster(Cluster):
    """A cluster whose commands are answered from a script of (words in the command, answer) pairs."""

    def __init__(self, answers: Sequence[tuple[str, str | int | Exception]]) -> None:
        super().__init__(Path("/nonexistent"), 1, "head")
        self.answers = list(answers)
        self.asked: list[str] = []

    def nodes(self) -> list[Node]:
        return [CONTROLLER, *WORKERS]

    def run(self, node: Node, argv: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        command = " ".join(argv)
        self.asked.append(command)
        for index, (words, answer) in enumerate(self.answers):
            if words in command:
                if len([a for w, a in self.answers if w == words]) > 1:
                    del self.answers[index]
                return self._answer(argv, answer)
        raise AssertionError(f"no answer for: {command}")

    @staticmethod
    def _answer(argv: Sequence[str], answer: str | int | Exception) -> subprocess.CompletedProcess[str]:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return subprocess.CompletedProcess(list(argv), answer, "", "refused")
        return subprocess.CompletedProcess(list(argv), 0, answer, "")
