"""What came out, and what it means for an exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from unbroken.checks.result import LeftOut, Result, Verdict

SCHEMA_VERSION = 1
OFFLINE = "none"


@dataclass(frozen=True)
class Report:
    """One preflight."""

    cluster_file: Path
    cluster: str
    """Empty where the file could not be read."""
    target: str
    """``aws``, ``rehearsal`` or ``none``."""
    results: tuple[Result, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def readable(self) -> bool:
        """Whether there was a cluster file to check."""
        return bool(self.cluster)

    @property
    def verdict(self) -> Verdict:
        """The worst of all results; a check that should have run and could not counts as UNKNOWN."""
        found = {result.verdict for result in self.results}
        if any(not one.on_purpose for one in self.left_out):
            found.add(Verdict.UNKNOWN)
        order = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS)
        return next((verdict for verdict in order if verdict in found), Verdict.UNKNOWN)

    def of(self, verdict: Verdict) -> list[Result]:
        """The results with that verdict."""
        return [result for result in self.results if result.verdict is verdict]

    def counts(self) -> Counter[str]:
        """Results by verdict."""
        return Counter(result.verdict.value for result in self.results)

    def exit_code(self, allow_unknown: bool) -> int:
        """0 where everything passed, 1 where something failed or is unknown, 2 for a file nobody can read."""
        if not self.readable:
            return 2
        allowed = (Verdict.PASS, Verdict.UNKNOWN) if allow_unknown else (Verdict.PASS,)
        return 0 if self.verdict in allowed else 1

    def with_result(self, result: Result) -> Report:
        """The report with one more result."""
        return replace(self, results=(*self.results, result))

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "cluster_file": str(self.cluster_file),
            "cluster": self.cluster,
            "target": self.target,
            "verdict": self.verdict.value,
            "counts": dict(self.counts()),
            "results": [_result(result) for result in self.results],
            "left_out": [asdict(one) for one in self.left_out],
        }


def _result(result: Result) -> dict[str, Any]:
    return {
        "id": result.id,
        "area": result.area,
        "verdict": result.verdict.value,
        "asked": result.asked,
        "found": result.outcome.found,
        "fix": result.outcome.fix,
        "seconds": round(result.seconds, 3),
    }
