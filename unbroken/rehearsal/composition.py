"""Wires the parts of the rehearsal's server together and starts and stops them in order."""

from __future__ import annotations

from pathlib import Path

from unbroken.rehearsal.aws.embedded import EmbeddedAws


class Rehearsal:
    """Everything that runs in the server process."""

    def __init__(self, state: Path, port: int, region: str, *, reduced: bool) -> None:
        self.state = state
        self.reduced = reduced
        self.aws = EmbeddedAws(port, region)

    def start(self) -> None:
        """Start every part; raises what a part failed with."""
        self.aws.start()

    def stop(self) -> None:
        """Stop every part, the last started first. Safe after a start that failed."""
        self.aws.stop()
