"""The rehearsal's report page: report.json in, one HTML page out. The page's template is templates/."""

from __future__ import annotations

from collections.abc import Mapping

from unbroken.render.templates_env import package_environment

TEMPLATE = "report.html.j2"


def report_page(report: Mapping[str, object]) -> str:
    """Return the page of one report. It reads nothing but `report`."""
    return package_environment().get_template(TEMPLATE).render(report=report)
