"""What must not be replaced by mistake: resources that hold data, and those that data stands on.

``golden/data.json`` has their logical ids and the values whose change makes CloudFormation replace them.
"""

from __future__ import annotations

from typing import Any

from tests.synth.build import Synth
from tests.synth.golden_files import FOLDER
from unbroken.catalog import replacement

GOLDEN = FOLDER / "data.json"
HOLDING = {
    "AWS::APS::Workspace", "AWS::FSx::FileSystem", "AWS::Grafana::Workspace", "AWS::KMS::Key",
    "AWS::Logs::LogGroup", "AWS::S3::Bucket",
    # A file system cannot move to another subnet or group, and the accounting is on the controller.
    "AWS::EC2::SecurityGroup", "AWS::EC2::Subnet", "AWS::EC2::VPC", "AWS::SageMaker::Cluster",
}  # fmt: skip

Data = dict[str, dict[str, Any]]
"""``<area>/<logical id>`` -> type and values; by example."""


def data_of(synth: Synth) -> dict[str, Any]:
    """Of one example."""
    return {
        f"{area}/{name}": {"Type": body["Type"], **_fixed(body["Type"], body.get("Properties", {}))}
        for area, name, body in synth.everything()
        if body["Type"] in HOLDING
    }


def losses(before: Data, after: Data) -> list[str]:
    """Every resource that CloudFormation would delete or replace; what is new or no longer given is none.

    An example that is gone says nothing: nobody deploys it.
    """
    return [
        f"{example}: {resource} {_change(known, after[example].get(resource))}"
        for example in sorted(before.keys() & after.keys())
        for resource, known in sorted(before[example].items())
        if known != after[example].get(resource)
    ]


def _change(before: dict[str, Any], after: dict[str, Any] | None) -> str:
    if after is None:
        return "is gone"
    changed = sorted(key for key in before | after if before.get(key) != after.get(key))
    values = ", ".join(f"{key} {before.get(key)!r} -> {after.get(key)!r}" for key in changed)
    return f"would be replaced: {values}"


def _fixed(kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    found = {path: _value(properties, path.split(".")) for path in sorted(replacement.properties(kind))}
    return {path: value for path, value in found.items() if value is not None}


def _value(properties: Any, path: list[str]) -> Any:
    for name in path:
        if not isinstance(properties, dict):
            return None
        properties = properties.get(name)
    return properties
