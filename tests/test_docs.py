"""The documentation: links lead somewhere, every page is on the map, figures are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from training.data.samples import SHIPPED, SampleIndex
from unbroken.config import TrainingConfig

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


def test_what_the_deployment_guide_says_of_the_default_job() -> None:
    """It has too little text for a step of 32 ranks, and enough for nine with 2048 tokens a sample."""
    defaults, text = TrainingConfig(), (ROOT / "docs/guides/deploy-to-aws.md").read_text(encoding="utf-8")
    assert f"{SHIPPED.stat().st_size:,} bytes" in text

    def steps(context_length: int) -> int:
        index = SampleIndex(SHIPPED, context_length, defaults.seed)
        return index.num_samples * defaults.num_epochs // 32

    assert (steps(defaults.context_length), steps(2048)) == (0, 9)
    assert "context_length: 2048" in text and "nine steps on 32 GPUs" in text
