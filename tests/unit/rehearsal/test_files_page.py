"""docs/reference/rehearsal-files.md lists every event that anything emits, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from unbroken.rehearsal.faults import FAULTS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/reference/rehearsal-files.md"
AGENT = "unbroken/rehearsal/nodes/image/opt/rehearsal/lib/cluster_agent"
_EMITTED = re.compile(r'emit\(\s*"(\w+)",\s*"(\w+)",')
_BY_AGENT = re.compile(r'_service\.emit\(\s*"(\w+)",')


def listed() -> set[tuple[str, str]]:
    rows = re.findall(
        r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {(source, kind) for source, kinds in rows for kind in re.findall(r"`(\w+)`", kinds)}


def emitted() -> set[tuple[str, str]]:
    found = {("fault", fault.kind) for fault in FAULTS.values()}
    for path in (ROOT / "unbroken").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(ROOT / AGENT):
            found |= {("agent", kind) for kind in _BY_AGENT.findall(text)}
        else:
            found |= set(_EMITTED.findall(text))
    return found


def test_the_page_lists_the_events_there_are() -> None:
    assert listed() == emitted()
