"""Which services the nodes of a closed network call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.config.build import load
from unbroken.config.endpoints import ALWAYS, endpoint_services

DATABASE = {
    "endpoint": "db.example.internal",
    "secret_arn": "arn:aws:secretsmanager:us-west-2:111122223333:secret:db",
}


@pytest.mark.parametrize(
    ("sections", "besides"),
    [
        ({}, []),
        ({"observability": {"prometheus": "create"}}, ["aps-workspaces"]),
        ({"slurm": {"mode": "api"}}, ["fsx"]),
        (
            {"node_provisioning": "Continuous", "slurm": {"mode": "api", "accounting_database": DATABASE}},
            ["secretsmanager", "fsx"],
        ),
    ],
)
def test_services_follow_what_the_file_asks_for(sections: dict[str, Any], besides: list[str]) -> None:
    assert endpoint_services(load(**sections)) == [*ALWAYS, *besides]
