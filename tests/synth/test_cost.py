"""What `unbroken cost` bills is what the templates hold: every kind of resource is billed, by use or free."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.synth.build import Synth
from unbroken.ops.cost import parts
from unbroken.ops.cost.model import Until

BILLED = {
    "AWS::EC2::NatGateway": "nat-gateway",
    "AWS::EC2::EIP": "public-ipv4",
    "AWS::KMS::Key": "kms-key",
}
BY_USE = {
    "AWS::APS::Workspace": "Prometheus",
    "AWS::Grafana::Workspace": "Grafana",
    "AWS::EC2::FlowLog": "flow logs",
}
FREE = {
    "AWS::Budgets::Budget",
    "AWS::CloudFormation::WaitConditionHandle",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::KMS::Alias",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::S3::BucketPolicy",
    "AWS::SSM::Parameter",
    "Custom::CDKBucketDeployment",
    "Custom::S3AutoDeleteObjects",
}
"""AWS asks nothing for them, or seconds of a function at a deployment, or bills what they hold elsewhere."""
LOOKED_AT = {
    "AWS::EC2::VPCEndpoint",
    "AWS::FSx::FileSystem",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SageMaker::Cluster",
}


def resources(example: Synth) -> list[tuple[str, dict[str, object]]]:
    return [
        (resource["Type"], resource.get("Properties", {}))
        for area in example.areas
        for resource in example.template(area)["Resources"].values()
    ]


def test_every_kind_of_resource_is_accounted_for(example: Synth) -> None:
    kinds = {kind for kind, _ in resources(example)}
    assert kinds - FREE - LOOKED_AT - BILLED.keys() - BY_USE.keys() - {"AWS::CDK::Metadata"} == set()


def test_hourly_parts_are_counted_as_in_the_templates(example: Synth) -> None:
    made = Counter(BILLED.get(kind) for kind, _ in resources(example) if kind in BILLED)
    interfaces = [p for kind, p in resources(example) if kind == "AWS::EC2::VPCEndpoint"]
    made["interface-endpoint"] = sum(p.get("VpcEndpointType") == "Interface" for p in interfaces)
    billed = {item.key: item.count for item in parts.items(example.config)}
    for key in (*BILLED.values(), "interface-endpoint"):
        assert billed.get(key, 0) == made[key], key


def test_nodes_volumes_and_file_systems_are_those_of_the_templates(example: Synth) -> None:
    items = parts.items(example.config)
    (cluster,) = [p for kind, p in resources(example) if kind == "AWS::SageMaker::Cluster"]
    groups = cluster["InstanceGroups"]
    assert isinstance(groups, list)
    nodes = [item for item in items if item.key.startswith(("node:", "spot:"))]
    assert sorted((item.key.partition(":")[2], item.count) for item in nodes) == sorted(
        (group["InstanceType"], group["InstanceCount"]) for group in groups
    )
    systems = Counter(p["FileSystemType"] for kind, p in resources(example) if kind == "AWS::FSx::FileSystem")
    assert systems["LUSTRE"] == any(item.key.startswith("lustre") for item in items)
    assert systems["OPENZFS"] == any(item.key.startswith("openzfs") for item in items)


def test_parts_by_use_are_those_of_the_templates(example: Synth) -> None:
    made = {BY_USE[kind] for kind, _ in resources(example) if kind in BY_USE}
    told = {each.what for each in parts.by_use(example.config)}
    assert told & set(BY_USE.values()) == made


@pytest.mark.parametrize("kind", ["AWS::FSx::FileSystem", "AWS::KMS::Key"])
def test_what_is_kept_is_kept_in_the_templates(example: Synth, kind: str) -> None:
    starts = {"AWS::FSx::FileSystem": ("lustre", "openzfs"), "AWS::KMS::Key": ("kms-key",)}[kind]
    policies = {
        resource["Properties"].get("FileSystemType", kind): resource["DeletionPolicy"] != "Delete"
        for area in example.areas
        for resource in example.template(area)["Resources"].values()
        if resource["Type"] == kind
    }
    kept = [
        item.until is Until.REMOVED for item in parts.items(example.config) if item.key.startswith(starts)
    ]
    assert any(kept) == any(policies.values())
