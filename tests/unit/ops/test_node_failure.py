"""A node that does not come up is explained by its own last words."""

from __future__ import annotations

from pathlib import Path

from unbroken.ops.rehearse.node_failure import node_failure
from unbroken.ops.rehearse.places import Places
from unbroken.rehearsal.events import EventLog
from unbroken.rehearsal.hyperpod import messages


def here(tmp_path: Path) -> tuple[Places, EventLog]:
    where = Places("x", tmp_path, tmp_path)
    return where, EventLog(where.events)


def test_a_failed_step_is_named(tmp_path: Path) -> None:
    where, log = here(tmp_path)
    log.emit("node", "lifecycle", "ip-1", step="10-role", result="applied", seconds=0.1)
    log.emit("node", "lifecycle", "ip-1", step="20-network", result="failed", error="waited 120 s for x")
    log.emit("hyperpod", "instance_status", "ip-1", status="Failure", message=messages.LIFECYCLE_FAILED)
    failure = node_failure(where)
    assert failure is not None
    assert failure.message == "lifecycle step 20-network failed on ip-1: waited 120 s for x"
    assert failure.log_lines == ["10-role  applied", "20-network  failed  waited 120 s for x"]


def test_a_refused_bundle_is_told_with_the_refusal(tmp_path: Path) -> None:
    where, log = here(tmp_path)
    log.emit("node", "lifecycle_line", "ip-1", line=messages.LOG_DOWNLOADING)
    log.emit("node", "lifecycle_line", "ip-1", line="[SageMaker] not authorized to perform: s3:GetObject")
    log.emit("hyperpod", "instance_status", "ip-1", status="Failure", message=messages.LIFECYCLE_FAILED)
    failure = node_failure(where)
    assert failure is not None
    assert failure.message.endswith(
        "ip-1 did not come up: [SageMaker] not authorized to perform: s3:GetObject"
    )
    assert failure.log_lines[0] == messages.LOG_DOWNLOADING


def test_a_machine_that_did_not_start_is_told_by_the_service(tmp_path: Path) -> None:
    where, log = here(tmp_path)
    log.emit("hyperpod", "instance_status", "ip-1", status="Failure", message="The instance did not start. x")
    failure = node_failure(where)
    assert failure is not None
    assert failure.message == "ip-1 did not come up: The instance did not start. x"


def test_only_a_boot_that_failed_counts(tmp_path: Path) -> None:
    where, log = here(tmp_path)
    log.emit("node", "lifecycle", "ip-1", step="10-role", result="applied")
    lost = log.emit("hyperpod", "instance_status", "ip-1", status="Failure", message=messages.UNREACHABLE)
    assert node_failure(where) is None
    log.emit("node", "lifecycle", "ip-1", step="10-role", result="failed", error="x")
    assert node_failure(where) is not None
    assert node_failure(where, since=lost.t + 3600) is None
