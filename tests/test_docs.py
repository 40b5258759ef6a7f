"""The documentation: links lead somewhere, every page is on the map."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAP = ROOT / "docs/README.md"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "training/README.md"])
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def targets(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, and the heading within."""
    found = [link.partition("#") for link in _LINK.findall(page.read_text(encoding="utf-8"))]
    return [
        ((page.parent / name).resolve() if name else page, anchor)
        for name, _, anchor in found
        if not name.startswith("http")
    ]


def anchors(page: Path) -> set[str]:
    """What a page's headings can be linked by, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in targets(page):
        assert target.exists(), f"{target.relative_to(ROOT)} does not exist"
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading #{anchor}"


def test_every_page_is_on_the_map() -> None:
    linked = {target for page in (MAP, ROOT / "docs/decisions/README.md") for target, _ in targets(page)}
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - linked == {MAP}
