"""The CloudFormation templates of a cluster file: app.py in a process of its own, without AWS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from unbroken.ops.errors import CannotRun
from unbroken.ops.processes import bound
from unbroken.ops.tools import SETUP, tool_environment

WRONG_FILE = 2
"""The exit code with which app.py says that the cluster file, not the program, is wrong."""
SECONDS = 300.0
_DROPPED = ("AWS_", "CDK_DEFAULT_")


@dataclass(frozen=True)
class Assembly:
    """A cloud assembly on disk."""

    folder: Path

    @cached_property
    def _stacks(self) -> dict[str, tuple[str, str]]:
        """Stack name and template file by area, in the order in which they are deployed."""
        manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        found = {}
        for identity, artifact in manifest["artifacts"].items():
            if artifact["type"] == "aws:cloudformation:stack":
                properties = artifact["properties"]
                name = properties.get("stackName", identity)
                found[name.rpartition("-")[2]] = (name, properties["templateFile"])
        return found

    @property
    def areas(self) -> list[str]:
        """What each stack is about: network, storage, identity, cluster, ... in the order of a deployment."""
        return list(self._stacks)

    def stack_name(self, area: str) -> str:
        """``<cluster>-<area>``."""
        return self._stacks[area][0]

    def template(self, area: str) -> dict[str, Any]:
        """The template of that stack."""
        content: dict[str, Any] = json.loads(self.template_path(area).read_text(encoding="utf-8"))
        return content

    def template_path(self, area: str) -> Path:
        """The file of that template."""
        return self.folder / self._stacks[area][1]


def synth(
    root: Path,
    cluster_file: Path,
    out: Path,
    base: Mapping[str, str] = os.environ,
    *,
    plain: bool = False,
) -> Assembly:
    """Write the assembly into ``out``. CannotRun in app.py's own words where that is not possible.

    Nothing of AWS or of the user's AWS settings is needed or seen. ``plain`` templates need no bootstrap.
    """
    try:
        out.parent.mkdir(
            parents=True, exist_ok=True
        )  # here, since Node.js retries for ever below some folders
    except OSError as error:
        raise CannotRun(f"{error.filename}: {error.strerror}", "give another --out") from error
    command = bound([sys.executable, str(root / "app.py")])  # it must not outlive us
    context = {"cluster": str(cluster_file.resolve()), "plain": plain}
    env = _environment(root, context, out, base)
    try:
        done = subprocess.run(
            command, cwd=root, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"the templates could not be made: {error}", SETUP) from error
    if done.returncode != 0:
        raise _refused(done)
    return Assembly(out)


def _environment(
    root: Path, context: Mapping[str, object], out: Path, base: Mapping[str, str]
) -> dict[str, str]:
    kept = {key: value for key, value in base.items() if not key.startswith(_DROPPED)}
    return {
        **tool_environment(root, kept),
        "CDK_OUTDIR": str(out.resolve()),
        "CDK_CONTEXT_JSON": json.dumps(context),
    }


def _refused(done: subprocess.CompletedProcess[str]) -> CannotRun:
    """What app.py said: all of it where it speaks to the user, else the last line of its traceback."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["it said nothing"]
    if done.returncode == WRONG_FILE:
        return CannotRun("\n".join(said).removeprefix("error: "))
    return CannotRun(f"app.py ended with exit code {done.returncode}: {said[-1].strip()}", SETUP)
