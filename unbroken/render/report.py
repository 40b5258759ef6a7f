"""The rehearsal's report page: report.json in, one HTML page out. The page's template is templates/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.render import report_axes, report_loss, report_timeline
from unbroken.render.templates_env import package_environment

TEMPLATE = "report.html.j2"


def report_page(report: Mapping[str, Any]) -> str:
    """Return the page of one report. It reads nothing but `report`."""
    page = package_environment().get_template(TEMPLATE)
    return page.render(
        report=report,
        whole=[report_timeline.whole(report, canvas) for canvas in report_axes.CANVASES],
        close_up=[report_timeline.close_up(report, canvas) for canvas in report_axes.CANVASES],
        loss=[report_loss.loss(report, canvas) for canvas in report_axes.CANVASES],
        seconds=report_axes.seconds,
        timeline=report_timeline,
        chart=report_loss,
    )
