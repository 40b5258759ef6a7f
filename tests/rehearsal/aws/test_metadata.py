"""Instance metadata as a node asks for it, and who may ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.rehearsal.aws.network import NODES, attribute, ref, role, vpc, way_out
from tests.rehearsal.aws.node_side import ask, spec, token, zone
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.gateway.http import Answer, Request
from unbroken.rehearsal.aws.gateway.imds import MetadataService
from unbroken.rehearsal.aws.gateway.nodes import Directory
from unbroken.rehearsal.composition import Rehearsal


@pytest.mark.behaviour("HP214")
def test_metadata_needs_a_token_of_this_node_that_has_not_run_out(rehearsal: Rehearsal) -> None:
    now = 0.0
    directory = Directory()
    directory.add(spec("r", "10.0.128.10"))
    directory.add(spec("r", "10.0.128.11"))
    service = MetadataService(directory, rehearsal.sessions, "us-west-2", zone, lambda: now)

    def get(client: str, held: str) -> int:
        headers = {"x-aws-ec2-metadata-token": held} if held else {}
        return service(Request("GET", "/latest/meta-data/instance-id", headers, b"", client)).status

    def put(ttl: str) -> Any:
        headers = {"x-aws-ec2-metadata-token-ttl-seconds": ttl} if ttl else {}
        return service(Request("PUT", "/latest/api/token", headers, b"", "10.0.128.10"))

    held = put("60").body.decode()
    assert (get("10.0.128.10", held), get("10.0.128.10", ""), get("10.0.128.11", held)) == (200, 401, 401)
    assert get("10.0.0.9", held) == 404
    assert [put(ttl).status for ttl in ("", "0", "21601", "x")] == [400, 400, 400, 400]
    now = 61.0
    assert get("10.0.128.10", held) == 401


def test_metadata_items_and_identity(rehearsal: Rehearsal, serve: Callable[[Answer], int]) -> None:
    directory = Directory()
    node = spec("r")
    directory.add(node)
    port = serve(MetadataService(directory, rehearsal.sessions, "us-west-2", zone))
    held = token(port)
    assert ask(port, "GET", "/latest/meta-data/instance-id", held) == (200, node.instance_id)
    listing = ask(port, "GET", "/latest/meta-data/", held)[1].splitlines()
    assert {"iam/", "instance-id", "placement/"} <= set(listing)
    assert ask(port, "GET", "/latest/meta-data/placement/region", held) == (200, "us-west-2")
    assert ask(port, "GET", "/latest/meta-data/placement/availability-zone-id", held) == (200, "usw2-az4")
    identity = json.loads(ask(port, "GET", "/latest/dynamic/instance-identity/document", held)[1])
    assert (identity["instanceId"], identity["region"]) == (node.instance_id, "us-west-2")
    assert ask(port, "GET", "/latest/meta-data/nothing", held)[0] == 404
    assert ask(port, "GET", "/latest/user-data", held)[0] == 404


def test_the_zone_of_a_node_is_that_of_its_interface(rehearsal: Rehearsal, stacks: Stacks) -> None:
    kept = stacks.create(vpc())  # another VPC with the same addresses
    elsewhere = vpc() | way_out() | {"Role": role(*NODES)}
    elsewhere["Subnet"]["Properties"]["AvailabilityZoneId"] = "usw2-az1"
    made = stacks.create(
        elsewhere, {"Subnet": ref("Subnet"), "Group": attribute("GroupId", "Group"), "Role": ref("Role")}
    )
    store = rehearsal.store
    assert store.zone_of("10.0.128.10") == "" and not store.reaches("10.0.128.10", "s3")
    held = store.attach_interface(
        made.outputs["Subnet"], [made.outputs["Group"]], "10.0.128.10", made.outputs["Role"]
    )
    assert store.zone_of("10.0.128.10") == "us-west-2a" and store.reaches("10.0.128.10", "s3")
    store.detach_interface(held)
    for one in (made, kept):
        assert stacks.delete(one.name).status == "DELETE_COMPLETE"
