"""The state machine of one node."""

from __future__ import annotations

import pytest

from cluster_agent.node_state import HOST_PORT, SLURMD_PORT, Order, Phase, Reach, Sight, Watched

OPEN, REFUSED, SILENT = Reach.OPEN, Reach.REFUSED, Reach.SILENT
REPLACE, REBOOT = "Action:Replace", "Action:Reboot"


def sight(
    reach: Reach = OPEN, state: str = "idle", reason: str = "none", instance: str = "i-1", started: str = ""
) -> Sight:
    return Sight(reach, state, reason, instance, started)


def up() -> Watched:
    node = Watched("n")
    assert node.see(sight()) is None
    assert node.phase is Phase.UP
    return node


def test_a_node_never_seen_is_not_lost() -> None:
    node = Watched("n")
    assert [node.see(sight(SILENT)) for _ in range(5)] == [None] * 5
    assert node.phase is Phase.NEW
    assert node.port == SLURMD_PORT


def test_two_misses_are_a_loss_and_one_is_not() -> None:
    node = up()
    assert node.see(sight(SILENT, "allocated")) is None
    assert node.see(sight(REFUSED, "allocated")) is None
    assert node.see(sight(SILENT, "allocated")) is None
    assert node.see(sight(SILENT, "allocated")) is Order.LOSE
    assert node.unhealthy


def test_a_stopped_slurmd_is_not_a_lost_host() -> None:
    node = up()
    assert node.port == HOST_PORT
    assert [node.see(sight(REFUSED, "down*", "Not responding")) for _ in range(5)] == [None] * 5


def test_from_loss_to_recovery() -> None:
    node = up()
    node.see(sight(SILENT))
    assert node.see(sight(SILENT)) is Order.LOSE
    assert node.see(sight(SILENT, "fail", REPLACE)) is Order.REQUEST
    assert node.see(sight(SILENT, "fail*", REPLACE)) is None
    assert node.see(sight(REFUSED, "fail*", REPLACE, "i-2")) is None
    assert node.see(sight(OPEN, "failing*", REPLACE, "i-2")) is None
    assert node.see(sight(OPEN, "fail*", f"{REPLACE} : Not responding", "i-2")) is Order.RESUME
    assert node.see(sight(OPEN, "idle*", "none", "i-2")) is None
    assert node.see(sight(OPEN, "idle", "none", "i-2")) is Order.RECOVERED
    assert (node.phase, node.unhealthy) == (Phase.UP, False)


@pytest.mark.parametrize("state", ["fail", "drained", "down"])
def test_an_exact_reason_marks(state: str) -> None:
    node = up()
    assert node.see(sight(state=state, reason=REPLACE)) is Order.MARKED
    assert node.see(sight(state=state, reason=REPLACE)) is Order.REQUEST


@pytest.mark.parametrize(
    "reason", ["action:replace", "Action:Replace ", " Action:Replace", "Action:Replace."]
)
def test_near_misses_do_nothing(reason: str) -> None:
    node = up()
    assert [node.see(sight(state="fail", reason=reason)) for _ in range(3)] == [None] * 3
    assert node.phase is Phase.UP


def test_a_reason_counts_when_it_is_set_and_not_as_it_is_shown_later() -> None:
    node = up()
    assert node.see(sight(REFUSED, "fail*", f"{REPLACE} : Not responding")) is None
    assert node.phase is Phase.UP


def test_jobs_end_first() -> None:
    node = up()
    assert node.see(sight(state="failing", reason=REPLACE)) is Order.MARKED
    assert node.see(sight(state="failing", reason=REPLACE)) is None
    assert node.see(sight(state="fail", reason=REPLACE)) is Order.REQUEST


def test_a_marked_node_that_dies_is_not_waited_for() -> None:
    node = up()
    assert node.see(sight(state="failing", reason=REPLACE)) is Order.MARKED
    assert node.see(sight(SILENT, "failing", REPLACE)) is None
    assert node.see(sight(SILENT, "failing", REPLACE)) is Order.REQUEST


def test_an_admins_drain_is_never_touched() -> None:
    node = up()
    drained = [node.see(sight(SILENT, state, "looking into it")) for state in ("drained", "drained*") * 3]
    assert drained == [None] * 6


def test_a_node_taken_over_during_its_replacement_is_left() -> None:
    node = up()
    node.see(sight(SILENT))
    node.see(sight(SILENT))
    node.see(sight(SILENT, "fail", REPLACE))
    assert node.see(sight(OPEN, "drained", "keep off", "i-2")) is None
    assert node.unhealthy
    assert node.see(sight(OPEN, "idle", "none", "i-2")) is None
    assert not node.unhealthy


def test_without_recovery_a_node_is_marked_and_held() -> None:
    node = up()
    node.see(sight(SILENT), automatic=False)
    assert node.see(sight(SILENT), automatic=False) is Order.LOSE
    assert [node.see(sight(SILENT, "fail*", REPLACE)) for _ in range(3)] == [None] * 3
    assert node.phase is Phase.HELD


def test_a_person_may_take_a_mark_back() -> None:
    node = up()
    node.see(sight(state="failing", reason=REPLACE))
    assert node.see(sight(state="allocated")) is None
    assert node.phase is Phase.UP


def test_a_reboot_too_short_to_be_seen() -> None:
    node = up()
    assert node.see(sight(state="fail", reason=REBOOT)) is Order.MARKED
    assert node.rebooting
    assert node.see(sight(state="fail", reason=REBOOT, started="10:00")) is Order.REQUEST
    assert node.see(sight(state="fail", reason=REBOOT, started="10:00")) is None
    assert node.see(sight(state="fail", reason=REBOOT, started="10:05")) is Order.RESUME
    assert node.see(sight(state="idle")) is Order.RECOVERED
