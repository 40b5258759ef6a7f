"""The verb: the file, the templates, what is there, the plan, the question, the deployment."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from unbroken.catalog.cloudformation import CLUSTER
from unbroken.checks.result import counted
from unbroken.config import ClusterConfig
from unbroken.ops import diff
from unbroken.ops.cdk import Cdk
from unbroken.ops.choose_target import chosen
from unbroken.ops.errors import CannotRun
from unbroken.ops.interrupts import Interrupted, twice_ends
from unbroken.ops.node_bundles import OtherBundle, other_bundle
from unbroken.ops.remove_nodes import remove_nodes
from unbroken.ops.remove_stack import remove
from unbroken.ops.stages import Display, Stages
from unbroken.ops.synth import Assembly, synth
from unbroken.ops.target import Target
from unbroken.ops.tools import lacking, project_root
from unbroken.ops.up.connecting import commands
from unbroken.ops.up.deploy import deploy
from unbroken.ops.up.interrupted import what_goes_on
from unbroken.ops.up.job import Job, give_job
from unbroken.ops.up.standing import standing


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    cluster: str | None = None
    target: str = "aws"
    rehearsal: str | None = None
    out: Path = Path("out/up")
    allow_replace: bool = False
    remove: tuple[str, ...] = ()
    """Instance ids of nodes that may go where a group gets fewer."""


@dataclass(frozen=True)
class Up:
    """A cluster that is up."""

    cluster: str
    region: str
    target: str
    stacks: list[str]
    connect: list[str]
    job: Job | None = None
    """Of a controller that was there before; a new one came up with the job, and one on paper has none."""
    other_bundle: OtherBundle | None = None
    """None where every node is new or on paper, and where the controller could not be asked."""


Agree = Callable[[diff.Plan], None]
"""Shows the plan and raises CannotRun where the user does not want it."""


def up(request: Request, display: Display, agree: Agree) -> Up:
    """Deploy. ConfigError or CannotRun before anything is done, StageFailed with the cause of a failure."""
    root = project_root()
    missing = lacking(root)
    if missing:
        raise CannotRun("; ".join(message for message, _ in missing), missing[0][1])
    path, config, target = chosen(request.target, request.cluster, request.rehearsal)
    work = _Work(root, request, config, target, Stages(display))
    with twice_ends():
        assembly = work.synthesize(path)
        plan = work.plan(assembly)
        agree(plan)
        work.clear_the_way(plan)
        made = work.deploy(assembly)
        return work.reach_nodes(made) if work.kept_controller(plan) else made


@dataclass(frozen=True)
class _Work:
    root: Path
    request: Request
    config: ClusterConfig
    target: Target
    stages: Stages

    def synthesize(self, cluster_file: Path) -> Assembly:
        out = self.request.out.resolve() / "cdk.out"
        with self.stages.stage("synth", "Make the templates") as stage:
            shutil.rmtree(out, ignore_errors=True)
            assembly = synth(self.root, cluster_file, out)
            stage.note = counted(len(assembly.areas), "stack")
        return assembly

    def plan(self, assembly: Assembly) -> diff.Plan:
        """What would change. CannotRun for a stack in no state for it, and for what is refused."""
        with self.stages.stage("plan", "Compare with what is deployed") as stage:
            names = [assembly.stack_name(area) for area in assembly.areas]
            standing(self.target, self.config.name, names, stage.detail)
            plan = diff.plan(self.target.aws, assembly, self.config.name)
            refused = plan.refusals(self.request.allow_replace, self.request.remove)
            if refused:
                raise CannotRun(
                    "\n".join(f"{one.what}: {one.why}" for one in refused),
                    "; ".join(dict.fromkeys(one.way_out for one in refused)),
                )
        return plan

    def clear_the_way(self, plan: diff.Plan) -> None:
        """Nodes that were named go; so does a cluster to be replaced, since two cannot have one name."""
        if self.request.remove:
            with self.stages.stage("remove", "Take nodes out") as stage:
                remove_nodes(self.target, self.config, self.request.remove, stage.detail)
        old = next((change.area for change in plan.replaced if change.type_name == CLUSTER), "")
        stack = self.target.aws.cloudformation.stack(f"{self.config.name}-{old}") if old else None
        if stack:
            with self.stages.stage("replace", "Take the old cluster down") as stage:
                remove(self.target, self.config.name, stack, stage.detail)

    def deploy(self, assembly: Assembly) -> Up:
        out = self.request.out.resolve()
        cdk = Cdk(self.root, self.target.environment, out / "logs", out / "tmp")
        cdk.log("deploy").unlink(missing_ok=True)
        names = [assembly.stack_name(area) for area in assembly.areas]
        with self.stages.stage("deploy", "cdk deploy --all") as stage:
            try:
                deploy(self.target, cdk, assembly, self.config, stage.detail)
            except Interrupted as error:
                error.explanation = what_goes_on(self.target, names)
                raise
            stage.note = counted(len(names), "stack")
        return Up(
            self.config.name,
            self.target.region,
            self.target.name,
            names,
            commands(self.target, self.config),
        )

    def kept_controller(self, plan: diff.Plan) -> bool:
        """Whether there is a controller that came up before this deployment, and not on paper."""
        kept = {group.name for group in plan.groups if group.kept}
        return self.config.controller_group.name in kept and self.target.runs_nodes

    def reach_nodes(self, made: Up) -> Up:
        """What of a deployment reaches nodes that run: the job. Which of them lack the rest is told."""
        try:
            job = give_job(self.target, self.config, self.stages)
            other = None if job.problem else other_bundle(self.target, self.config)
        except Interrupted as error:
            error.explanation = [
                "it is deployed; whether the controller has the job is unknown: `unbroken up` again"
            ]
            raise
        return replace(made, job=job, other_bundle=other)
