"""Which changed properties make CloudFormation replace a resource instead of changing it.

Source: the service specification inside the pinned ``aws-cdk`` package, which AWS makes from CloudFormation's
own schemas and documentation and by which ``cdk diff`` tells replacements. ``python -m
unbroken.catalog.replacement`` writes data/replacement.json from it; a test holds the two in step.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

SPECIFICATION = Path("node_modules/aws-cdk/db.json.gz")
_DATA = "data/replacement.json"

TYPES = (
    "AWS::APS::Workspace",
    "AWS::Budgets::Budget",
    "AWS::CloudFormation::WaitConditionHandle",
    "AWS::EC2::EIP",
    "AWS::EC2::FlowLog",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCEndpoint",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::FSx::FileSystem",
    "AWS::Grafana::Workspace",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::KMS::Alias",
    "AWS::KMS::Key",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SSM::Parameter",
    "AWS::SageMaker::Cluster",
)
"""What our templates hold, but for CDK's custom resources; a test looks for more."""


def properties(type_name: str) -> frozenset[str]:
    """Dotted paths (``LustreConfiguration.DeploymentType``) whose change replaces the resource.

    Raises KeyError for a type that is not listed here.
    """
    return _table()[type_name]


@cache
def _table() -> dict[str, frozenset[str]]:
    content = json.loads(files("unbroken.catalog").joinpath(_DATA).read_text(encoding="utf-8"))
    return {name: frozenset(paths) for name, paths in content.items()}


def extract(specification: Path) -> dict[str, list[str]]:
    """The table, from AWS's specification."""
    with gzip.open(specification) as file:
        schema = json.load(file)["schema"]
    definitions = {entity["$id"]: entity for entity in schema["typeDefinition"]["entities"]}
    resources = {entity["cloudFormationType"]: entity for entity in schema["resource"]["entities"]}
    return {name: sorted(_paths(resources[name]["properties"], definitions)) for name in TYPES}


def _paths(fields: dict[str, Any], definitions: dict[str, Any], seen: tuple[str, ...] = ()) -> Iterator[str]:
    for name, field in fields.items():
        # "maybe" stands for what the documentation calls conditional: a person should look in any case.
        if field.get("causesReplacement") in ("yes", "maybe"):
            yield name
            continue
        inner = field["type"].get("reference", {}).get("$ref")
        if inner and inner not in seen:
            for path in _paths(definitions[inner]["properties"], definitions, (*seen, inner)):
                yield f"{name}.{path}"


def main() -> int:
    """Write the table into the checkout."""
    path = Path(__file__).with_name("data") / "replacement.json"
    path.write_text(json.dumps(extract(SPECIFICATION), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
