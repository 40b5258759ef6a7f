"""What is made of the cluster file for the checks to look at: bundles and templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from unbroken import render
from unbroken.checks.subject import Missing
from unbroken.checks.template.model import Template
from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun
from unbroken.ops.synth import Assembly, synth
from unbroken.ops.tools import SETUP, lacking, project_root


def bundles(config: ClusterConfig, folder: Path) -> Mapping[str, Path] | Missing:
    """The two bundles, as a deployment renders them."""
    makers = {"lifecycle": render.bundle, "training": render.training_bundle}
    try:
        return {name: make(config, folder / name).path for name, make in makers.items()}
    except render.RenderError as error:
        return Missing(str(error), SETUP, wrong=True)


Synth = Callable[[Path, Path, Path], Assembly]


def templates(cluster_file: Path, folder: Path, make: Synth = synth) -> Mapping[str, Template] | Missing:
    """The templates by area. Missing tools are told apart from a file that CDK refuses."""
    try:
        root = project_root()
    except CannotRun as error:
        return Missing(error.message, error.hint, wrong=False)
    absent = lacking(root)
    if absent:
        return Missing("; ".join(message for message, _ in absent), absent[0][1], wrong=False)
    try:
        assembly = make(root, cluster_file, folder)
    except CannotRun as error:
        return Missing(error.message, error.hint or "see the message", wrong=True)
    return {area: _template(assembly, area) for area in assembly.areas}


def _template(assembly: Assembly, area: str) -> Template:
    name = assembly.stack_name(area)
    return Template(area, name, assembly.template(area), assembly.template_path(area))
