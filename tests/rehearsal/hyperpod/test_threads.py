"""The service with its own threads: waiting, health polling, two operations at once, closing."""

from __future__ import annotations

import threading

import pytest

from tests.rehearsal.hyperpod.fakes import (
    WORKER_1,
    WORKER_2,
    FakeClock,
    FakeEvents,
    FakeMachine,
    FakeMachines,
    FakeStore,
    request,
)
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.service import HyperPodService
from unbroken.rehearsal.hyperpod.settings import Settings, SystemClock

LONG = 30.0


def threaded(machines: FakeMachines) -> HyperPodService:
    settings = Settings(view_lag_seconds=0.0, health_poll_seconds=0.01, log_poll_seconds=0.01)
    return HyperPodService(machines, FakeStore(), FakeEvents(), FakeClock(), settings)


def wait_for(service: HyperPodService, statuses: list[str]) -> None:
    """Wait until the nodes show these statuses."""

    def shown() -> list[str]:
        rows = service.list_cluster_nodes({"ClusterName": "ml"})["ClusterNodeSummaries"]
        return [row["InstanceStatus"]["Status"] for row in rows]

    with service.world.changed:
        assert service.world.changed.wait_for(lambda: shown() == statuses, LONG), shown()


def test_create_die_replace_delete() -> None:
    machines = FakeMachines()
    service = threaded(machines)
    service.start()
    service.create_cluster(request(2))
    assert service.wait("ml", LONG).ok
    machines.of(WORKER_1)[0].up = False
    wait_for(service, ["Running", "Failure", "Running"])
    assert service.replace_requested("ml", WORKER_1, "Action:Replace")["accepted"]
    wait_for(service, ["Running", "Running", "Running"])
    service.delete_cluster({"ClusterName": "ml"})
    assert service.wait("ml", LONG).status == "Deleted"
    service.close()
    assert machines.closed and all(machine.discarded for machine in machines.made)


def test_two_replacements_at_once_and_closing_in_the_middle() -> None:
    machines = FakeMachines()
    service = threaded(machines)
    service.create_cluster(request(2))
    assert service.wait("ml", LONG).ok
    both = threading.Barrier(3, timeout=LONG)

    def script(machine: FakeMachine) -> tuple[int, str]:
        both.wait()
        return 0, ""

    machines.script = script
    for name in (WORKER_1, WORKER_2):
        assert service.replace_requested("ml", name, "Action:Replace")["accepted"]
    both.wait()
    wait_for(service, ["Running", "Running", "Running"])
    service.close()
    assert not any(machine.up for machine in machines.made)


def test_waiting_has_an_end() -> None:
    machines = FakeMachines()
    gate = threading.Event()
    machines.script = lambda machine: (0 if gate.wait(LONG) else 1, "")
    service = threaded(machines)
    service.create_cluster(request(1))
    with pytest.raises(TimeoutError, match="cluster ml was still Creating after 0"):
        service.wait("ml", 0.0)
    with pytest.raises(ServiceError, match="Wait for the operation to end"):
        service.delete_cluster({"ClusterName": "ml"})
    gate.set()
    assert service.wait("ml", LONG).ok
    service.close()


def test_the_system_clock_does_not_sleep_for_nothing() -> None:
    clock = SystemClock()
    before = clock.now()
    clock.sleep(0)
    clock.sleep(-1)
    assert clock.now() >= before
