"""Faults do what they say, to the node they choose, and say why when they cannot."""

from __future__ import annotations

from collections.abc import Sequence
from subprocess import CompletedProcess

import pytest

from unbroken.rehearsal.faults import FAULTS, FaultError

HOSTS = ["batch-host", "second", "last"]


class Node:
    name = "last"
    inner_pid = 42

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.ran: list[tuple[str, str]] = []

    def inside(self, argv: Sequence[str]) -> CompletedProcess[str]:
        return self._run("inside", argv)

    def beside(self, argv: Sequence[str]) -> CompletedProcess[str]:
        return self._run("beside", argv)

    def _run(self, where: str, argv: Sequence[str]) -> CompletedProcess[str]:
        self.ran.append((where, argv[-1]))
        return CompletedProcess(list(argv), self.code, "", "Cannot find device")


def test_the_link_is_cut_before_the_init_is_killed() -> None:
    FAULTS["worker"].inject(node := Node())
    ((where, script),) = node.ran
    assert where == "beside"
    assert script.index("ip link set eth0 down") < script.index("kill -KILL 42")
    assert " && " in script


def test_a_task_dies_inside_its_node() -> None:
    FAULTS["task"].inject(node := Node())
    assert node.ran[0][0] == "inside"


@pytest.mark.parametrize(
    ("name", "host"), [("worker", "last"), ("first-node", "batch-host"), ("task", "last")]
)
def test_each_fault_chooses_its_node(name: str, host: str) -> None:
    assert FAULTS[name].choose(HOSTS) == host


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_that_cannot_be_injected_says_why(name: str) -> None:
    with pytest.raises(FaultError, match=r"last.*: Cannot find device"):
        FAULTS[name].inject(Node(code=1))
