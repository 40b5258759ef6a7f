"""What is done with which rights: by HyperPod with the nodes' role, and by CloudFormation with its own.

Sources: SageMaker developer guide, "IAM role for SageMaker HyperPod" (nodes); the "permissions" of the create
handlers in CloudFormation's resource schemas, the calls without which nothing is made (CloudFormation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

METRICS = {"cloudwatch:namespace": "/aws/sagemaker/Clusters"}


@dataclass(frozen=True)
class Need:
    """Actions on one resource. ``{partition}``, ``{region}``, ``{account}`` and ``{cluster}`` stand in it."""

    actions: tuple[str, ...]
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)


_LOGS = "arn:{partition}:logs:{region}:{account}:log-group:/aws/sagemaker/Clusters/{cluster}/a1b2c3d4e5f6"
_EC2 = "arn:{partition}:ec2:{region}:{account}:"

OF_NODES: tuple[Need, ...] = (
    Need(("logs:CreateLogGroup",), _LOGS),
    Need(
        ("logs:CreateLogStream", "logs:PutLogEvents"),
        _LOGS + ":log-stream:LifecycleConfig/group/i-0123456789abcdef0",
    ),
    Need(("cloudwatch:PutMetricData",), "*", METRICS),
    Need(
        tuple(
            f"ssmmessages:{way}{kind}Channel" for way in ("Create", "Open") for kind in ("Control", "Data")
        ),
        "*",
    ),
    Need(
        tuple(
            f"ec2:Describe{what}"
            for what in ("DhcpOptions", "NetworkInterfaces", "SecurityGroups", "Subnets", "Vpcs")
        ),
        "*",
    ),
)
"""Beside interfaces and the lifecycle bundle, whose places are the template's to say."""

_ROLE = "arn:{partition}:iam::{account}:role/{cluster}-identity-ExecutionRole-ABCDEFGHIJKL"

OF_CLOUDFORMATION: Mapping[str, Need] = {
    "AWS::EC2::VPC": Need(("ec2:CreateVpc",), _EC2 + "vpc/vpc-0123456789abcdef0"),
    "AWS::EC2::Subnet": Need(("ec2:CreateSubnet",), _EC2 + "subnet/subnet-0123456789abcdef0"),
    "AWS::EC2::SecurityGroup": Need(
        ("ec2:CreateSecurityGroup", "ec2:AuthorizeSecurityGroupIngress", "ec2:AuthorizeSecurityGroupEgress"),
        _EC2 + "security-group/sg-0123456789abcdef0",
    ),
    "AWS::EC2::InternetGateway": Need(
        ("ec2:CreateInternetGateway",), _EC2 + "internet-gateway/igw-0123456789abcdef0"
    ),
    "AWS::EC2::NatGateway": Need(("ec2:CreateNatGateway",), _EC2 + "natgateway/nat-0123456789abcdef0"),
    "AWS::EC2::EIP": Need(("ec2:AllocateAddress",), _EC2 + "elastic-ip/eipalloc-0123456789abcdef0"),
    "AWS::EC2::RouteTable": Need(
        ("ec2:CreateRouteTable", "ec2:CreateRoute"), _EC2 + "route-table/rtb-0123456789abcdef0"
    ),
    "AWS::EC2::VPCEndpoint": Need(("ec2:CreateVpcEndpoint",), _EC2 + "vpc-endpoint/vpce-0123456789abcdef0"),
    "AWS::EC2::FlowLog": Need(("ec2:CreateFlowLogs",), _EC2 + "vpc-flow-log/fl-0123456789abcdef0"),
    "AWS::Logs::LogGroup": Need(
        ("logs:CreateLogGroup", "logs:PutRetentionPolicy"),
        "arn:{partition}:logs:{region}:{account}:log-group:{cluster}-cluster-UploadsLogs-ABCDEFGHIJKL",
    ),
    "AWS::IAM::Role": Need(("iam:CreateRole", "iam:PutRolePolicy", "iam:PassRole"), _ROLE),
    "AWS::S3::Bucket": Need(
        (
            "s3:CreateBucket",
            "s3:PutEncryptionConfiguration",
            "s3:PutBucketPublicAccessBlock",
            "s3:PutBucketPolicy",
        ),
        "arn:{partition}:s3:::sagemaker-{cluster}-abcdef-{account}-{region}",
    ),
    "AWS::FSx::FileSystem": Need(
        ("fsx:CreateFileSystem", "fsx:TagResource"),
        "arn:{partition}:fsx:{region}:{account}:file-system/fs-0123456789abcdef0",
    ),
    "AWS::FSx::DataRepositoryAssociation": Need(
        ("fsx:CreateDataRepositoryAssociation",),
        "arn:{partition}:fsx:{region}:{account}:association/fs-0123456789abcdef0/dra-0123456789abcdef0",
    ),
    "AWS::KMS::Key": Need(("kms:CreateKey",), "*"),
    "AWS::Lambda::Function": Need(
        ("lambda:CreateFunction", "lambda:InvokeFunction"),
        "arn:{partition}:lambda:{region}:{account}:function:{cluster}-cluster-CustomCDKBucketDeployment-ABCDEFGHIJKL",
    ),
    "AWS::SageMaker::Cluster": Need(
        ("sagemaker:CreateCluster", "sagemaker:DescribeCluster", "sagemaker:AddTags"),
        "arn:{partition}:sagemaker:{region}:{account}:cluster/a1b2c3d4e5f6",
    ),
    "AWS::SSM::Parameter": Need(
        ("ssm:PutParameter",), "arn:{partition}:ssm:{region}:{account}:parameter/CFN-{cluster}-ABCDEFGHIJKL"
    ),
    "AWS::APS::Workspace": Need(("aps:CreateWorkspace",), "*"),
    "AWS::Grafana::Workspace": Need(("grafana:CreateWorkspace",), "*"),
    "AWS::Budgets::Budget": Need(
        ("budgets:ModifyBudget",), "arn:{partition}:budgets::{account}:budget/{cluster}"
    ),
}
"""By resource type. Types that are not here are parts of one that is, or need no right of their own."""
