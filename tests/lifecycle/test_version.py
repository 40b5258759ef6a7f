"""Each node says on the shared file system with which bundle it came up."""

from __future__ import annotations

import pytest

from tests.lifecycle.conftest import MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LOGIN, WORKER
from unbroken import render


@pytest.mark.parametrize(
    ("address", "identity"),
    [(CONTROLLER, "i-controller-machine-1"), (LOGIN, "i-login-group-1"), (WORKER, "i-worker-group-1-1")],
)
def test_the_hash_of_the_bundles_prefix_is_in_a_file_by_instance_id(
    make_lab: MakeLab, bundle: render.Bundle, address: str, identity: str
) -> None:
    lab = make_lab(address)
    assert lab.run() == 0
    told = lab.root / "fsx/unbroken/nodes" / identity
    assert told.read_text() == f"{bundle.content_hash}\n"
    told.write_text("0123456789abcdef\n")
    assert lab.run() == 0
    assert lab.results()["99-version"] == "applied"
    assert told.read_text() == f"{bundle.content_hash}\n"


def test_a_node_that_fails_on_its_way_says_nothing(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.s3.rename(lab.root / "no-s3")
    assert lab.run() == 1
    assert not (lab.root / "fsx/unbroken/nodes").exists()
