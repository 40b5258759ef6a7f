"""Resources of a small network, as CloudFormation has them, for the tests of this folder."""

from __future__ import annotations

from typing import Any

Resources = dict[str, Any]


def resource(kind: str, **properties: Any) -> Any:
    """One resource."""
    return {"Type": kind, "Properties": properties}


def after(name: str, made: Any) -> Any:
    """The resource, made after another one."""
    return made | {"DependsOn": name}


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def attribute(name: str, of: str) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [of, name]}


def vpc() -> Resources:
    """A VPC, a private subnet in a zone given by id, and a security group."""
    return {
        "Vpc": resource("AWS::EC2::VPC", CidrBlock="10.0.0.0/16"),
        "Subnet": resource(
            "AWS::EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.128.0/17", AvailabilityZoneId="usw2-az4"
        ),
        "Group": resource("AWS::EC2::SecurityGroup", VpcId=ref("Vpc"), GroupDescription="nodes"),
    }


def self_rules() -> Resources:
    """The group's rules that refer to itself."""
    group = attribute("GroupId", "Group")
    return {
        "In": resource(
            "AWS::EC2::SecurityGroupIngress", GroupId=group, SourceSecurityGroupId=group, IpProtocol="-1"
        ),
        "Out": resource(
            "AWS::EC2::SecurityGroupEgress", GroupId=group, DestinationSecurityGroupId=group, IpProtocol="-1"
        ),
    }


def public_side() -> Resources:
    """An internet gateway and a NAT gateway in a public subnet."""
    nat = resource(
        "AWS::EC2::NatGateway", SubnetId=ref("Public"), AllocationId=attribute("AllocationId", "Address")
    )
    return {
        "Internet": resource("AWS::EC2::InternetGateway"),
        "Attachment": resource(
            "AWS::EC2::VPCGatewayAttachment", VpcId=ref("Vpc"), InternetGatewayId=ref("Internet")
        ),
        "Public": resource(
            "AWS::EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.0.0/24", AvailabilityZoneId="usw2-az4"
        ),
        "Address": after("Attachment", resource("AWS::EC2::EIP", Domain="vpc")),
        "Nat": after("Attachment", nat),
    }


def way_out() -> Resources:
    """A way for nodes in the subnet to S3 and CloudWatch: a route to the NAT gateway."""
    to_world = {
        "RouteTableId": ref("Routes"),
        "DestinationCidrBlock": "0.0.0.0/0",
        "NatGatewayId": ref("Nat"),
    }
    association = {"SubnetId": ref("Subnet"), "RouteTableId": ref("Routes")}
    return public_side() | {
        "Routes": resource("AWS::EC2::RouteTable", VpcId=ref("Vpc")),
        "RoutesOfSubnet": resource("AWS::EC2::SubnetRouteTableAssociation", **association),
        "WayOut": resource("AWS::EC2::Route", **to_world),
    }


def file_system(**lustre: Any) -> Any:
    """A Lustre file system in that subnet."""
    configuration = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250, **lustre}
    return resource(
        "AWS::FSx::FileSystem",
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[ref("Subnet")],
        SecurityGroupIds=[attribute("GroupId", "Group")],
        LustreConfiguration=configuration,
    )


def allow(actions: list[str] | str, on: Any = "*", **condition: Any) -> dict[str, Any]:
    """A statement."""
    made = {"Effect": "Allow", "Action": actions, "Resource": on}
    return made | ({"Condition": condition} if condition else {})


NODES = (
    allow(["ec2:*NetworkInterface*", "ec2:Describe*", "ec2:CreateTags"]),
    allow("logs:*"),
    allow(["s3:GetObject", "s3:ListBucket"]),
)
"""What HyperPod needs of an execution role in a VPC of one's own, generously."""


def function(*statements: dict[str, Any]) -> Resources:
    """A Lambda function, which never runs, and its role."""
    code = {"ZipFile": "exports.handler = async () => {}"}
    made = resource(
        "AWS::Lambda::Function",
        Handler="index.handler",
        Runtime="nodejs22.x",
        Code=code,
        Role=attribute("Arn", "FunctionRole"),
    )
    return {"FunctionRole": role(*statements, service="lambda"), "Function": made}


def role(*statements: dict[str, Any], managed: bool = False, service: str = "sagemaker") -> Any:
    """A role with these statements, which the service can assume."""
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": f"{service}.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    made = resource(
        "AWS::IAM::Role", AssumeRolePolicyDocument={"Version": "2012-10-17", "Statement": [trust]}
    )
    if statements:
        document = {"Version": "2012-10-17", "Statement": list(statements)}
        made["Properties"]["Policies"] = [{"PolicyName": "own", "PolicyDocument": document}]
    if managed:
        made["Properties"]["ManagedPolicyArns"] = [
            "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
        ]
    return made
