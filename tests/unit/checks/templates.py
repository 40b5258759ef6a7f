"""Small templates that every template check passes, to break one thing at a time."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from unbroken.checks.template.model import Template

Documents = dict[str, dict[str, Any]]
NAME = "ml"
BUCKET = {"Fn::Join": ["", ["sagemaker-ml-abc-", {"Ref": "AWS::AccountId"}, "-us-west-2"]]}
SOURCE = {
    "Fn::Join": ["", ["s3://sagemaker-ml-abc-", {"Ref": "AWS::AccountId"}, "-us-west-2/lifecycle/0a1b/"]]
}


def from_output(stack: str, name: str) -> dict[str, Any]:
    return {"Fn::GetStackOutput": {"StackName": f"{NAME}-{stack}", "Region": "us-west-2", "OutputName": name}}


def of(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def _bucket(**more: Any) -> dict[str, Any]:
    blocks = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    rule = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    return of(
        "AWS::S3::Bucket",
        BucketEncryption={"ServerSideEncryptionConfiguration": [rule]},
        PublicAccessBlockConfiguration=dict.fromkeys(blocks, True),
        **more,
    )


def _tls_only(bucket: str) -> dict[str, Any]:
    statement = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        "Resource": "*",
    }
    return of("AWS::S3::BucketPolicy", Bucket={"Ref": bucket}, PolicyDocument={"Statement": [statement]})


def _role(*statements: dict[str, Any]) -> dict[str, Any]:
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    return of(
        "AWS::IAM::Role",
        AssumeRolePolicyDocument={"Statement": [trust]},
        Policies=[{"PolicyName": "all", "PolicyDocument": document}],
    )


READ = {
    "Effect": "Allow",
    "Action": ["s3:GetObject", "s3:ListBucket"],
    "Resource": {
        "Fn::Join": ["", ["arn:aws:s3:::sagemaker-ml-abc-", {"Ref": "AWS::AccountId"}, "-us-west-2*"]]
    },
}
OWN = {
    "Effect": "Allow",
    "Action": "ec2:CreateNetworkInterface",
    "Resource": {
        "Fn::Join": ["", ["arn:aws:ec2:us-west-2:111122223333:subnet/", from_output("network", "Private")]]
    },
}
LOOK = {"Effect": "Allow", "Action": "ec2:DescribeVpcs", "Resource": "*"}


def _network() -> dict[str, Any]:
    group = {"Fn::GetAtt": ["Group", "GroupId"]}
    return {
        "Vpc": of("AWS::EC2::VPC", CidrBlock="10.0.0.0/16"),
        "Private": of("AWS::EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.128.0/17"),
        "Public": of("AWS::EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.0.0/24"),
        "PrivateTable": of("AWS::EC2::RouteTable", VpcId={"Ref": "Vpc"}),
        "PublicTable": of("AWS::EC2::RouteTable", VpcId={"Ref": "Vpc"}),
        "PrivateUse": of(
            "AWS::EC2::SubnetRouteTableAssociation",
            RouteTableId={"Ref": "PrivateTable"},
            SubnetId={"Ref": "Private"},
        ),
        "PublicUse": of(
            "AWS::EC2::SubnetRouteTableAssociation",
            RouteTableId={"Ref": "PublicTable"},
            SubnetId={"Ref": "Public"},
        ),
        "PublicRoute": of(
            "AWS::EC2::Route",
            RouteTableId={"Ref": "PublicTable"},
            DestinationCidrBlock="0.0.0.0/0",
            GatewayId="igw",
        ),
        "S3": of(
            "AWS::EC2::VPCEndpoint",
            VpcId={"Ref": "Vpc"},
            ServiceName="com.amazonaws.us-west-2.s3",
            VpcEndpointType="Gateway",
            RouteTableIds=[{"Ref": "PrivateTable"}],
        ),
        "Group": of("AWS::EC2::SecurityGroup", GroupDescription="nodes", VpcId={"Ref": "Vpc"}),
        "In": of(
            "AWS::EC2::SecurityGroupIngress", GroupId=group, SourceSecurityGroupId=group, IpProtocol="-1"
        ),
        "Out": of(
            "AWS::EC2::SecurityGroupEgress", GroupId=group, DestinationSecurityGroupId=group, IpProtocol="-1"
        ),
    }


def _storage() -> dict[str, Any]:
    kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    gone = {"DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}
    return {
        "DataBucket": _bucket() | kept,
        "DataPolicy": _tls_only("DataBucket"),
        "LifecycleBucket": _bucket(BucketName=BUCKET) | gone,
        "LifecyclePolicy": _tls_only("LifecycleBucket"),
        "FileSystem": of("AWS::FSx::FileSystem", FileSystemType="LUSTRE", SubnetIds=["subnet"]) | kept,
    }


def _cluster() -> dict[str, Any]:
    handed_on = of("AWS::SSM::Parameter", Type="String", Value=from_output("network", "Group"))
    group = {
        "InstanceGroupName": "w",
        "InstanceCount": 1,
        "InstanceType": "ml.m5.xlarge",
        "ExecutionRole": from_output("identity", "Role"),
        "LifeCycleConfig": {"SourceS3Uri": SOURCE, "OnCreate": "on_create.sh"},
    }
    vpc = {
        "SecurityGroupIds": [{"Fn::GetAtt": ["GroupId", "Value"]}],
        "Subnets": [from_output("network", "Private")],
    }
    cluster = of("AWS::SageMaker::Cluster", ClusterName=NAME, InstanceGroups=[group], VpcConfig=vpc)
    return {"GroupId": handed_on, "Cluster": cluster}


def documents() -> Documents:
    network = {
        "Resources": _network(),
        "Outputs": {
            "Group": {"Value": {"Fn::GetAtt": ["Group", "GroupId"]}},
            "Private": {"Value": {"Ref": "Private"}},
        },
    }
    return copy.deepcopy(
        {
            "network": network,
            "storage": {"Resources": _storage()},
            "identity": {
                "Resources": {"Role": _role(READ, OWN, LOOK)},
                "Outputs": {"Role": {"Value": "arn"}},
            },
            "cluster": {"Resources": _cluster()},
        }
    )


def written(found: Documents, folder: Path) -> dict[str, Template]:
    """The documents as templates on disk, as synth leaves them."""
    made = {}
    for area, document in found.items():
        path = folder / f"{NAME}-{area}.template.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        made[area] = Template(area, f"{NAME}-{area}", document, path)
    return made
