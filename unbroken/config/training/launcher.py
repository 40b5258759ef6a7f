"""The job's settings that its launcher takes; they are in job.sbatch and not in job.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.section import Fault, Section
from unbroken.config.training.kinds import absolute, in_the_script, mount


class LauncherSettings(Section):
    """How the job is started on the nodes."""

    python: Annotated[str, AfterValidator(absolute)] = "/fsx/unbroken/env/bin/python3"
    """Interpreter with torch and transformers, at the same path on every node. The default is built by the
    controller when the cluster comes up; any other is yours."""
    container_image: Annotated[str, AfterValidator(in_the_script)] | None = None
    """Image that the ranks run in, by Pyxis: a name in a registry, or the path of a squashfs file. ``python``
    still starts the launcher on the node, and needs PyYAML only."""
    container_mounts: list[Annotated[str, AfterValidator(mount)]] = Field(default_factory=list)
    """Folders beside those that the job's own settings name, which are mounted anyway."""
    container_python: Annotated[str, AfterValidator(in_the_script)] = "python3"
    """Interpreter inside the image."""
    hub_token_file: Annotated[str, AfterValidator(absolute)] | None = None
    """File with a Hugging Face token, readable by the cluster's user alone. null: what ``hf auth login``
    wrote."""
    efa_fallback: Literal["warn", "stop"] = "warn"
    """What happens when NCCL's log shows TCP sockets on nodes that have EFA."""

    def faults(self) -> Iterator[Fault]:
        """Settings of a container come with one."""
        if self.container_mounts and self.container_image is None:
            rule = "has no effect without container_image"
            yield Fault(("container_mounts",), self.container_mounts, rule, "remove it, or name an image")
