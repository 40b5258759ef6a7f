"""A made-up rehearsal for tests: events and metrics as the parts write them. No figure here was measured."""

from __future__ import annotations

from typing import Any

from unbroken.rehearsal.events import Event

ZERO = 1_800_000_000.0
VICTIM = "ip-10-0-128-14"
NODES = {
    "ip-10-0-128-10": "controller-machine",
    "ip-10-0-128-11": "worker-group-1",
    "ip-10-0-128-12": "worker-group-1",
    "ip-10-0-128-13": "worker-group-1",
    VICTIM: "worker-group-1",
}
STAGES = [
    ("rootfs", "Root file system of the nodes", 0.0, 0.2),
    ("aws", "Start the embedded AWS", 0.2, 1.9),
    ("bootstrap", "cdk bootstrap", 2.1, 4.4),
    ("deploy", "cdk deploy --all", 6.5, 38.2),
    ("slurm", "Slurm: every worker idle", 44.7, 1.1),
    ("job", "Submit the job", 45.8, 0.5),
    ("training", "Train past the first checkpoint", 46.3, 17.9),
    ("fault", "Fault: worker (power_off)", 64.2, 0.2),
    ("recovery", "Recover", 64.4, 21.8),
    ("finish", "Train to the end", 86.2, 9.0),
    ("accounting", "Slurm accounting (sacct)", 95.2, 0.4),
    ("destroy", "cdk destroy --all", 95.6, 26.0),
    ("leftovers", "Look for leftovers", 121.6, 0.7),
    ("stop", "Stop the embedded AWS", 122.3, 0.9),
]
FAULT = 64.3
RECOVERY = [
    ("detected", 1.0, VICTIM, {}),
    ("marked", 1.3, VICTIM, {"reason": "Action:Replace"}),
    ("resume_action", 4.1, VICTIM, {"job": "1", "action": "RETRYSTEP"}),
    ("replaced", 9.8, VICTIM, {}),
]


def event(at: float, source: str, kind: str, subject: str, **data: Any) -> Event:
    """An event at a time after the beginning."""
    return Event(ZERO + at, source, kind, subject, data)


def begin(**changes: Any) -> Event:
    """The event every rehearsal begins with."""
    data: dict[str, Any] = {
        "mode": "full",
        "fault": "worker",
        "cluster": {
            "name": "ml-cluster",
            "region": "us-west-2",
            "groups": [
                {"name": "controller-machine", "instance_type": "ml.m5.12xlarge", "num_instances": 1},
                {"name": "worker-group-1", "instance_type": "ml.p4de.24xlarge", "num_instances": 4},
            ],
        },
        "versions": {"aws-cdk-lib": "2.275.0", "unbroken": "0.1.0"},
        "ledger": {"total": 71, "verified_on_aws": 0},
        "overlay": [{"setting": "training.preset", "cluster_file": "mathstral-7b", "rehearsal": "tiny"}],
        "reality": {
            "real": ["the cdk CLI", "systemd and Slurm on every node"],
            "emulated": ["SageMaker HyperPod"],
            "replayed": ["GPUs and EFA"],
            "left_out": [],
        },
    }
    return event(0.0, "rehearse", "begin", "synthetic", **{**data, **changes})


def stage_events() -> list[Event]:
    """Start and end of every stage."""
    found = []
    for name, title, at, seconds in STAGES:
        found.append(event(at, "rehearse", "stage", name, state="start", title=title))
        found.append(event(at + seconds, "rehearse", "stage", name, state="end", seconds=seconds, ok=True))
    return found


def node_events() -> list[Event]:
    """The lives of the nodes, with one that is replaced."""
    found = []
    for index, (name, group) in enumerate(NODES.items()):
        boot = 22.0 if group.startswith("controller") else 30.0
        changes = [
            (boot, "Pending"),
            (boot + 8 + index, "Running"),
            (100.0, "ShuttingDown"),
            (104.0, "Deleted"),
        ]
        if name == VICTIM:
            changes[2:2] = [(FAULT + 1.2, "Failure"), (FAULT + 1.9, "Pending"), (FAULT + 8.9, "Running")]
        for at, status in changes:
            generation = "b" if name == VICTIM and at > FAULT + 1.5 else "a"
            identity = f"i-0{generation}{index:015x}"
            found.append(
                event(
                    at, "hyperpod", "instance_status", name, status=status, group=group, instance_id=identity
                )
            )
        found.append(
            event(boot + 2, "node", "lifecycle", name, step="10-role", result="applied", seconds=0.1)
        )
    return found


def fault_events() -> list[Event]:
    """The fault, and what the agents say about it."""
    found = [
        event(FAULT, "fault", "power_off", VICTIM, description="its link is cut and its init killed", step=8)
    ]
    return found + [
        event(FAULT + after, "agent", kind, subject, **data) for kind, after, subject, data in RECOVERY
    ]


def job_events() -> list[Event]:
    """The job's states."""
    states = [(46.2, "submitted", "PENDING"), (47.0, "state", "RUNNING"), (95.1, "state", "COMPLETED")]
    return [event(at, "job", kind, "/fsx/ubuntu/jobs/x", id="1", state=state) for at, kind, state in states]


def events() -> list[Event]:
    """A whole rehearsal that passed, in the order of the times."""
    last = [
        event(122.0, "rehearse", "leftovers", "synthetic", leftovers=[], kept=["AWS::FSx::FileSystem fs-0"]),
        event(123.2, "rehearse", "end", "synthetic"),
    ]
    parts = [begin(), *stage_events(), *node_events(), *fault_events(), *job_events(), *last]
    return sorted(parts, key=lambda e: e.t)


def metrics() -> list[dict[str, Any]]:
    """Steps 1 to 8, then a fault, then 7 to 24 again from the checkpoint of step 6."""
    first = [(1, step, 58.0 + step * 0.75) for step in range(1, 9)]
    second = [(2, step, FAULT + 21.0 + (step - 7) * 0.5) for step in range(7, 25)]
    return [
        {"attempt": attempt, "step": step, "loss": round(6.0 - 1.6 * (1 - 0.9**step), 6), "t": ZERO + at}
        for attempt, step, at in first + second
    ]
