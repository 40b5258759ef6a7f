"""The page of all checks, made from the checks themselves.

``python -m unbroken.checks.reference`` writes it into the checkout; a test holds it in step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from unbroken.checks.check import Area, Check
from unbroken.checks.every import CHECKS

PAGE_FILE = Path("docs/reference/preflight.md")

_INTRODUCTION = """# The checks of `unbroken preflight`

<!-- Made by `python -m unbroken.checks.reference`; change the checks in unbroken/checks instead. -->

Each check has an id that does not change, asks one question and answers `PASS`, `FAIL` or `UNKNOWN`. How to
read the answers is in [the guide](../guides/preflight.md). A check runs only where the file has something for
it to ask about; `--json` lists the others under `left_out`.

The last column names the faults that a check is there for: `UP-` numbers of the faults that users of such
clusters reported most, listed at the end.
"""

FAULTS = {
    "UP-001": "an error in a lifecycle script sinks the whole cluster",
    "UP-002": "EFA without a rule for the group itself in both directions",
    "UP-005": "downloads from the internet fail on a node",
    "UP-007": "nodes go on with an unmounted file system",
    "UP-008": "capacity, nodes and file system in different zones",
    "UP-009": "a quota discovered only at create time",
    "UP-012": "synth needs credentials, or writes dummy zones",
    "UP-013": "file system lost, or kept and paid for, by surprise",
    "UP-014": "Grafana without IAM Identity Center or SAML",
    "UP-015": "private subnets that cannot reach S3 or AWS",
    "UP-016": "names that differ between files",
    "UP-025": "a bucket the nodes' role cannot read",
    "UP-026": "Lustre's ports closed, or a file system in another VPC or zone",
    "UP-028": "auto-resume together with settings it does not work with",
    "UP-035": "buckets that block a destroy, or the next deployment",
    "UP-036": "a stack stuck in DELETE_FAILED",
    "UP-039": "large bundles that time out",
    "UP-040": "Grafana that comes up empty",
    "UP-048": "accounting that does not work",
    "UP-051": "artefacts that do not exist",
    "UP-053": "templates that differ between machines",
    "UP-058": "a role that lacks an action somebody forgot",
    "UP-059": "a file system size FSx does not offer",
    "UP-061": "S3 links that the deployment type does not support",
    "UP-062": "Lustre versions that do not fit together",
    "UP-063": "regions and zones written into other files",
    "UP-064": "name rules found out late",
    "UP-065": "Windows line ends in scripts",
    "UP-071": "no logs, since the role may not write them",
    "UP-075": "user ids that differ between nodes",
    "UP-083": "nodes that start before their scripts are uploaded",
    "UP-084": "tools that go on after a failed look-up",
    "UP-085": "ThreadsPerCore reset by an update",
    "UP-090": "a bundle without its main script",
    "UP-093": "script changes that never reach a node",
    "UP-096": "a session that cannot be opened",
    "UP-097": "validation that hides the real error",
}


def page() -> str:
    """The reference page as Markdown."""
    parts = [_INTRODUCTION]
    for area, checks in groupby(CHECKS, lambda check: check.area):
        parts += _section(area, list(checks))
    parts += ["## Permissions", "", *_permissions(), "", "## The faults", "", *_faults()]
    return "\n".join(parts) + "\n"


def _section(area: Area, checks: list[Check]) -> Iterator[str]:
    yield f"## {area.value[0].upper()}{area.value[1:]}"
    yield ""
    yield "| id | what should hold | why | faults |"
    yield "|---|---|---|---|"
    for check in checks:
        why = (type(check).__doc__ or "").strip().splitlines()[0]
        yield f"| `{check.id}` | {check.asks} | {why} | {', '.join(check.faults)} |"
    yield ""


def _permissions() -> Iterator[str]:
    """What the checks of the account ask with; none of it changes anything."""
    yield "With these actions allowed on all resources, no answer is UNKNOWN for lack of a permission:"
    yield ""
    for action in sorted({action for check in CHECKS for action in check.calls}):
        yield f"- `{action}`"


def _faults() -> Iterator[str]:
    yield "| fault | what went wrong | checks |"
    yield "|---|---|---|"
    for fault, words in FAULTS.items():
        ids = ", ".join(f"`{check.id}`" for check in CHECKS if fault in check.faults)
        yield f"| {fault} | {words} | {ids} |"


def main() -> None:
    """Write the page into the checkout."""
    (Path(__file__).resolve().parents[2] / PAGE_FILE).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
