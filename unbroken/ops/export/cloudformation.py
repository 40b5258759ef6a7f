"""Plain templates, the files they need, and a script that deploys them with nothing but the AWS CLI."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from unbroken import config as cluster_file
from unbroken import render
from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun
from unbroken.ops.export.folder import whole_folder
from unbroken.ops.synth import Assembly, synth
from unbroken.ops.tools import project_root
from unbroken.render import export as written

MARKER = "export.json"
EXECUTABLE = 0o755


@dataclass(frozen=True)
class Export:
    """What was written."""

    cluster: str
    region: str
    folder: str
    stacks: list[str]
    """In the order in which they are deployed."""


def export(explicit: str | None, out: Path) -> Export:
    """Write the folder ``out``, whole or not at all. ConfigError for a wrong file, else CannotRun."""
    path = cluster_file.find(explicit, os.environ)
    config = cluster_file.load(path)
    _check_tags(config)
    with (
        whole_folder(out, MARKER) as folder,
        tempfile.TemporaryDirectory(prefix="unbroken-export-") as scratch,
    ):
        assembly = synth(project_root(), path, Path(scratch), plain=True)
        stacks = _templates(assembly, folder)
        result = Export(config.name, config.region, str(out), [stack.name for stack in stacks])
        try:
            _files(config, folder, stacks)
        except render.RenderError as error:
            raise CannotRun(error.found, error.hint) from error
        marker = {"schema_version": 1, "kind": "cloudformation", **asdict(result)}
        del marker["folder"]
        (folder / MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")
    return result


def _check_tags(config: ClusterConfig) -> None:
    """`aws cloudformation deploy` takes tags as KEY=VALUE, so that a key with = would end too early."""
    for key in config.tags:
        if "=" in key:
            raise CannotRun(f"the tag {key!r} has an equals sign in its key", "use a key without one")


def _templates(assembly: Assembly, folder: Path) -> list[written.Stack]:
    """Write the templates, numbered in the order of their deployment."""
    stacks = []
    for number, area in enumerate(assembly.areas, 1):
        template = assembly.template(area)
        stack = written.stack(area, assembly.stack_name(area), f"{number}-{area}.json", template)
        (folder / stack.file).write_text(stack.text, encoding="utf-8")
        stacks.append(stack)
    return stacks


def _files(config: ClusterConfig, folder: Path, stacks: list[written.Stack]) -> None:
    """Both bundles, the files whose values the script fills in, the script and what to read first."""
    bundle = render.bundle(config, folder / "lifecycle")
    code = render.training_bundle(config, folder / "training")
    parts = written.Parts(config, stacks, bundle.content_hash, code.content_hash)
    (folder / "values").mkdir()
    for name, text in written.values(parts).items():
        (folder / "values" / name).write_text(text, encoding="utf-8")
    script = folder / "deploy.sh"
    script.write_text(written.deploy_script(parts), encoding="utf-8")
    script.chmod(EXECUTABLE)
    (folder / "README.md").write_text(written.readme(parts), encoding="utf-8")
