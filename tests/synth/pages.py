"""Pages of the documentation that are made from the templates, and that a test holds in step with them."""

from __future__ import annotations

from pathlib import Path

from tests.synth import permissions_page
from tests.synth.accepted import ACCEPTED
from tests.synth.build import REPOSITORY, Synth

REFERENCE = REPOSITORY / "docs" / "reference"
_FINDINGS_HEAD = """<!-- Written by `make golden` from tests/synth/accepted.py. Do not edit. -->
# Findings of cdk-nag that are meant to be so

The templates of every cluster file in `clusters/` are checked against cdk-nag's AwsSolutions rules in each
run of the tests, and nothing is open. These findings are accepted; patterns are regular expressions. Whoever
runs cdk-nag over the app sees them, for they are not silenced in the templates.

| rule | where | why it is so |
|---|---|---|
"""


def texts(examples: dict[str, Synth]) -> dict[Path, str]:
    """Page -> its text."""
    return {
        REFERENCE / "permissions.md": permissions_page.text(examples),
        REFERENCE / "security-findings.md": _findings(),
    }


def _findings() -> str:
    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    rows = [f"| `{cell(each.rule)}` | `{cell(each.resource)}` | {cell(each.reason)} |" for each in ACCEPTED]
    return _FINDINGS_HEAD + "\n".join(rows) + "\n"
