"""Ledger entries for what the agents on a node do (ids HP1xx)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour, Confidence

_GUIDE = "SageMaker AI developer guide"
_NOTES = "awslabs/awsome-distributed-ai, hyperpod-mental-model.md (2026)"
_SCRIPTS = "awslabs/awsome-distributed-ai, LifecycleScripts/base-config (2026)"
_SAMPLES = "awslabs/awsome-distributed-ai, test_cases (2026)"
_SKILLS = "awslabs/agent-plugins, hyperpod skills (2026)"
_WORKSHOP = "AWS workshop ai-on-sagemaker-hyperpod (2026)"
_TRANSCRIPT = "public terminal transcript of a HyperPod cluster (February 2024)"
_PULL = "awslabs/awsome-distributed-ai, pull requests"
_OWN = "no public source; the rehearsal's reading"


def _entry(number: int, confidence: Confidence, source: str, text: str) -> Behaviour:
    return Behaviour(f"HP{number:03}", text, source, confidence)


# fmt: off
AGENT_BEHAVIOURS: list[Behaviour] = [
    # The machine image
    _entry(101, "observed", _NOTES,
           "The cluster agent's unit is on every node and leaves at once with status 0 on all but the "
           "controller, where it listens on port 4001."),
    _entry(102, "observed", f"{_NOTES}; {_SCRIPTS}",
           "slurmd is configless: it is started with --conf-server, and no node but the controller keeps "
           "a slurm.conf."),
    _entry(113, "observed", f"{_NOTES}; {_WORKSHOP}, troubleshooting",
           "slurmd started on the controller deletes slurm.conf; restarting the cluster agent writes it "
           "again."),
    # slurm.conf
    _entry(114, "observed", f"{_NOTES}, quoting the developer guide",
           "The agent writes slurm.conf anew when the cluster changes: edits by hand are lost; "
           "accounting.conf is included and not touched. Which keys survive on AWS is unpublished; here "
           "none does."),
    _entry(117, "observed", f"{_WORKSHOP}; {_SCRIPTS}",
           "The default partition dev holds every node, and each worker group has its partition; nodes "
           "are State=CLOUD, named ip-A-B-C-D after their address; TaskPlugin is task/none."),
    _entry(118, "observed", _NOTES,
           "Login nodes run slurmd and are in the partition dev. Older samples leave them out; a setting "
           "of the emulator does too."),
    _entry(121, "observed", f"{_NOTES}; {_WORKSHOP}, heterogeneous clusters",
           "Nodes added to the cluster or taken from it are added to Slurm and taken from it by the agent; "
           "running jobs go on."),
    _entry(123, "inferred", "SageMaker API reference (names the strategies)",
           "Partitions added to slurm.conf by hand are kept with SlurmConfigStrategy Merge, and lost "
           "without."),
    # Recovery of nodes
    _entry(104, "observed", _NOTES,
           "A node is replaced when its reason is set to Action:Replace, to the letter; wrong case, a "
           "space or a dot more, and nothing happens, silently."),
    _entry(105, "observed", _SKILLS,
           "Jobs on a node marked state=fail run to their end (failing); then it is replaced."),
    _entry(106, "observed", _NOTES,
           "Action:Reboot has the node rebooted, and the agent puts it back to work afterwards."),
    _entry(107, "documented", f"{_GUIDE}, automatic node recovery",
           "With NodeRecovery None the agent marks a node and asks for nothing."),
    _entry(115, "inferred", _OWN,
           "A node drained by a person for another reason is left alone, even when it dies."),
    # Auto-resume
    _entry(103, "observed", f"{_NOTES}; {_PULL} (595)",
           "--auto-resume belongs to srun: sbatch says unrecognized option. Each task prints a start "
           "line."),
    _entry(122, "inferred", _OWN,
           "A job outlives the loss of one of its nodes, else its step could not be resumed: submissions "
           "default to --no-kill."),
    _entry(108, "observed", f"{_TRANSCRIPT}; {_SAMPLES}",
           "ResumeAction=RETRYSTEP: lost nodes leave the job, an extra job with a new id brings their "
           "replacements, and the step is retried in the same batch script; the lines and their spelling "
           "are the service's."),
    _entry(109, "inferred", _OWN,
           "A job whose batch host is lost is requeued under its id."),
    _entry(110, "observed", _NOTES,
           "ResumeAction=NONE where no hardware fault is found: a killed task alone ends the step, with "
           "the task's status, and the batch script goes on."),
    _entry(111, "observed", _TRANSCRIPT,
           "The diagnosis looks at every node of the step: a task that fails beside a marked node is "
           "retried, also where it failed on another."),
    _entry(112, "inferred", _OWN,
           "A job that runs without --auto-resume is requeued when one of its nodes is lost."),
    _entry(116, "observed", f"{_NOTES}; {_WORKSHOP}, GRES",
           "A job with GRES gets RETRYSTEP and is then requeued as a whole, under its id."),
    _entry(119, "observed", f"{_TRANSCRIPT}; {_NOTES}",
           "The step's helper asks the cluster agent on the controller's port 4001. What they say to "
           "each other on AWS is unknown; here it is a line of JSON each way."),
    _entry(120, "observed", f"{_PULL} (584)",
           "TaskPlugin other than task/none, or PrologFlags=Alloc, and the step runs without being "
           "resumed, with the service's lines saying so."),
]
# fmt: on
