"""Findings of cdk-nag's AwsSolutions rules that are meant to be so, each with its reason."""

from __future__ import annotations

from tests.synth.security import Accepted

ACCEPTED = (
    Accepted(
        r"IAM5\[Resource::\*\]",
        "identity/ExecutionRole/Resource",
        "Session Manager's channels, EC2's Describe calls, CloudWatch's metrics (narrowed to one "
        "namespace) and FSx's DescribeFileSystems take no resource, and detaching an interface names an"
        " instance in the service's account. permissions.md lists these statements; test_identity.py "
        "holds the list.",
    ),
    Accepted(
        r"IAM5\[Resource::arn:aws:ec2:<region>:<account>:network-interface/\*\]",
        "identity/ExecutionRole/Resource",
        "HyperPod makes the interfaces, so their ids are not known before. New ones are possible in the"
        " cluster's subnets and security groups only.",
    ),
    Accepted(
        r"IAM5\[Resource::arn:aws:logs:<region>:<account>:log-group:/aws/sagemaker/Clusters/<cluster>/.*\]",
        "identity/ExecutionRole/Resource",
        "HyperPod chooses the log group's last part, the cluster's id, and names the streams after the "
        "nodes.",
    ),
    Accepted(
        r"IAM5\[Resource::arn:aws:s3:::<lifecycle bucket>/(lifecycle|training)/\*\]",
        "identity/ExecutionRole/Resource",
        "Reading only. A node reads the version it was made with, and versions are named by the hash of"
        " their content.",
    ),
    Accepted(
        r"IAM5\[Resource::\*\]",
        "network/FlowLogRole/Resource",
        "logs:DescribeLogGroups lists; CloudWatch Logs narrows a listing to no group. Writing is "
        "narrowed to one.",
    ),
    Accepted(
        r"IAM5\[Resource::arn:aws:s3:::<lifecycle bucket>/(lifecycle|training)/<hash>/\*\]",
        "cluster/Uploads/Role/Resource",
        "The objects of one bundle, under a prefix that is named by its content.",
    ),
    Accepted(
        r"IAM5\[Resource::\*\]",
        "observability/GrafanaRole/Resource",
        "Reading only: aps:ListWorkspaces and CloudWatch's metrics take no resource. Queries are "
        "narrowed to the cluster's own workspace.",
    ),
    Accepted(
        "L1",
        r"cluster/Custom::CDKBucketDeployment\w+/Resource",
        "The function and its runtime are aws-cdk-lib's own, and move on with its pinned version. It "
        "runs when a bundle is deployed, at no other time.",
    ),
    Accepted(
        "S1",
        r"storage/(Data|Lifecycle)Bucket/Resource",
        "Access logs need a bucket of their own, to be kept and paid for after the cluster. The data "
        "bucket is read and written by FSx and its owner; who else reads, CloudTrail's data events "
        "tell, which accounts turn on in one place.",
    ),
)
