"""A healthy account, as recorded shapes: every check passes in it. Tests break one answer at a time.

Shapes: AWS's API references and CLI examples; quota names and codes as Service Quotas lists them.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from tests.unit.checks.recorded import Refusal

ACCOUNT = "111122223333"
ZONE = "usw2-az4"
VPC = "vpc-0123456789abcdef0"
SUBNET = "subnet-0123456789abcdef0"
GROUP = "sg-0123456789abcdef0"
FILE_SYSTEM = "fs-0123456789abcdef0"
HOME = "fs-0fedcba9876543210"
ENI = "eni-0123456789abcdef0"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/HyperPodNodes"
KEY = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
SECRET = f"arn:aws:secretsmanager:us-west-2:{ACCOUNT}:secret:slurm-AbCdEf"
PLAN = f"arn:aws:sagemaker:us-west-2:{ACCOUNT}:training-plan/p5"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/boundary"
NO_STACK = Refusal("ValidationError", "Stack with id ml-network does not exist")
TYPES = ("ml.m5.12xlarge", "ml.m5.4xlarge", "ml.p5.48xlarge", "ml.p4de.24xlarge")
PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
IN_ALL = "Total number of instances allowed across SageMaker HyperPod clusters"
VOLUME = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"


def quota(name: str, value: float, code: str = "L-12345678") -> dict[str, Any]:
    return {"ServiceCode": "sagemaker", "QuotaCode": code, "QuotaName": name, "Value": value}


def quotas(changed: dict[str, float] | None = None) -> dict[str, Any]:
    """SageMaker's quotas by name, as ListServiceQuotas gives them."""
    values = {f"{kind} for cluster usage": 8.0 for kind in TYPES}
    values |= {f"{kind} for cluster spot instance usage": 4.0 for kind in TYPES}
    values |= {PER_CLUSTER: 20.0, IN_ALL: 30.0, VOLUME: 1024.0, **(changed or {})}
    return {"Quotas": [quota(name, value) for name, value in values.items()]}


def one_quota(value: float) -> dict[str, Any]:
    return {"Quota": quota("the quota asked for", value)}


def stack(status: str, name: str = "ml-network") -> dict[str, Any]:
    made = datetime(2026, 11, 1, tzinfo=timezone.utc)
    return {"Stacks": [{"StackName": name, "StackStatus": status, "CreationTime": made}]}


def subnet(**changed: Any) -> dict[str, Any]:
    one = {
        "SubnetId": SUBNET,
        "VpcId": VPC,
        "AvailabilityZoneId": ZONE,
        "CidrBlock": "10.0.128.0/17",
        "AvailableIpAddressCount": 30000,
    }
    return {"Subnets": [one | changed]}


def group(*, ways: tuple[str, ...] = ("in", "out"), group_id: str = GROUP) -> dict[str, Any]:
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}
    return {
        "SecurityGroups": [
            {
                "GroupId": group_id,
                "VpcId": VPC,
                "IpPermissions": [rule] if "in" in ways else [],
                "IpPermissionsEgress": [rule] if "out" in ways else [],
            }
        ]
    }


def routes(**default: str) -> dict[str, Any]:
    own = {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"}
    out = [{"DestinationCidrBlock": "0.0.0.0/0", "State": "active", **default}] if default else []
    association = {"SubnetId": SUBNET, "Main": False, "RouteTableId": "rtb-1"}
    return {
        "RouteTables": [
            {"RouteTableId": "rtb-1", "VpcId": VPC, "Associations": [association], "Routes": [own, *out]}
        ]
    }


def endpoint(service: str = "s3", kind: str = "Gateway", **more: Any) -> dict[str, Any]:
    return {
        "VpcEndpointId": f"vpce-{service}",
        "VpcEndpointType": kind,
        "VpcId": VPC,
        "ServiceName": f"com.amazonaws.us-west-2.{service}",
        "State": "available",
        **more,
    }


def lustre(**changed: Any) -> dict[str, Any]:
    one = {
        "FileSystemId": FILE_SYSTEM,
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": "2.15",
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": 1200,
        "StorageType": "SSD",
        "VpcId": VPC,
        "SubnetIds": [SUBNET],
        "NetworkInterfaceIds": [ENI],
        "DNSName": f"{FILE_SYSTEM}.fsx.us-west-2.amazonaws.com",
        "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "MountName": "abcdef01"},
    }
    return {"FileSystems": [one | changed]}


def openzfs(**changed: Any) -> dict[str, Any]:
    one = {
        "FileSystemId": HOME,
        "FileSystemType": "OPENZFS",
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": 64,
        "VpcId": VPC,
        "SubnetIds": [SUBNET],
        "DNSName": f"{HOME}.fsx.us-west-2.amazonaws.com",
        "OpenZFSConfiguration": {"DeploymentType": "SINGLE_AZ_HA_2"},
    }
    return {"FileSystems": [one | changed]}


def _file_systems(arguments: dict[str, Any]) -> dict[str, Any]:
    """By id where one is asked for; none where all are."""
    ids = arguments.get("FileSystemIds", [])
    found = {FILE_SYSTEM: lustre(), HOME: openzfs()}
    return {"FileSystems": [one for name in ids for one in found[name]["FileSystems"]]}


def plan(**changed: Any) -> dict[str, Any]:
    """DescribeTrainingPlan's example, for HyperPod and the file's zone."""
    start, end = (datetime(year, 9, 26, 11, 30, tzinfo=timezone.utc) for year in (2026, 2099))
    reserved = {
        "ReservedCapacityArn": f"arn:aws:sagemaker:us-west-2:{ACCOUNT}:reserved-capacity/rc1",
        "InstanceType": "ml.p5.48xlarge",
        "TotalInstanceCount": 4,
        "Status": "Scheduled",
        "AvailabilityZone": "us-west-2d",
        "AvailabilityZoneId": ZONE,
        "StartTime": start,
        "EndTime": end,
    }
    one = {
        "TrainingPlanArn": PLAN,
        "TrainingPlanName": "p5",
        "Status": "Scheduled",
        "StartTime": start,
        "EndTime": end,
        "TotalInstanceCount": 4,
        "AvailableInstanceCount": 4,
        "InUseInstanceCount": 0,
        "TargetResources": ["hyperpod-cluster"],
        "ReservedCapacitySummaries": [reserved],
    }
    reserved |= changed.pop("reserved", {})
    return one | changed


def decisions(decision: str = "allowed", **more: Any) -> Any:
    """Every action the simulator is asked about is decided alike."""

    def decide(arguments: dict[str, Any]) -> dict[str, Any]:
        resource = arguments["ResourceArns"][0]
        return {
            "EvaluationResults": [
                {"EvalActionName": name, "EvalResourceName": resource, "EvalDecision": decision, **more}
                for name in arguments["ActionNames"]
            ]
        }

    return decide


def role(arn: str = ROLE, service: str = "sagemaker.amazonaws.com") -> dict[str, Any]:
    trust = (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",'
        f'"Principal":{{"Service":"{service}"}}}}]}}'
    )
    return {
        "Role": {
            "Path": "/",
            "RoleName": arn.rpartition("/")[2],
            "RoleId": "AROAEXAMPLEEXAMPLE12",
            "Arn": arn,
            "CreateDate": datetime(2026, 1, 1, tzinfo=timezone.utc),
            "AssumeRolePolicyDocument": trust,
        }
    }


def _role_by_name(arguments: dict[str, Any]) -> dict[str, Any]:
    return role(f"arn:aws:iam::{ACCOUNT}:role/{arguments['RoleName']}")


def cluster(name: str = "ml", status: str = "InService", number: int = 2) -> dict[str, Any]:
    one = {
        "InstanceGroupName": "w",
        "InstanceType": "ml.p4de.24xlarge",
        "CurrentCount": number,
        "TargetCount": number,
    }
    return {
        "ClusterArn": f"arn:aws:sagemaker:us-west-2:{ACCOUNT}:cluster/abcdefghijkl",
        "ClusterName": name,
        "ClusterStatus": status,
        "InstanceGroups": [one],
    }


def clusters(*names: str) -> dict[str, Any]:
    made = datetime(2026, 11, 1, tzinfo=timezone.utc)
    arn = f"arn:aws:sagemaker:us-west-2:{ACCOUNT}:cluster/abcdefghijkl"
    return {
        "ClusterSummaries": [
            {"ClusterArn": arn, "ClusterName": name, "CreationTime": made, "ClusterStatus": "InService"}
            for name in names
        ]
    }


def key(**changed: Any) -> dict[str, Any]:
    one = {
        "KeyId": KEY.rpartition("/")[2],
        "Arn": KEY,
        "KeyState": "Enabled",
        "KeyUsage": "ENCRYPT_DECRYPT",
        "KeySpec": "SYMMETRIC_DEFAULT",
    }
    return {"KeyMetadata": one | changed}


def policy_version() -> dict[str, Any]:
    document = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
    return {"PolicyVersion": {"Document": document, "VersionId": "v1", "IsDefaultVersion": True}}


def _identity(path: str = "assumed-role/Deployer/me") -> dict[str, Any]:
    return {"Account": ACCOUNT, "Arn": f"arn:aws:sts::{ACCOUNT}:{path}", "UserId": "AROAEXAMPLE:me"}


HEALTHY: dict[str, Any] = {
    "sts.get_caller_identity": _identity(),
    "ssm.get_parameter": {"Parameter": {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "25"}},
    "sso-admin.list_instances": {
        "Instances": [{"InstanceArn": "arn:aws:sso:::instance/ssoins-1234567890abcdef"}]
    },
    "cloudformation.describe_stacks": NO_STACK,
    "ec2.describe_regions": {"Regions": [{"RegionName": "us-west-2", "OptInStatus": "opt-in-not-required"}]},
    "ec2.describe_availability_zones": {
        "AvailabilityZones": [
            {"ZoneId": f"usw2-az{number}", "ZoneName": f"us-west-2{letter}", "State": "available"}
            for number, letter in enumerate("abcd", 1)
        ]
    },
    "ec2.describe_instance_type_offerings": {
        "InstanceTypeOfferings": [{"LocationType": "availability-zone-id", "Location": ZONE}]
    },
    "ec2.describe_vpcs": {"Vpcs": [{"VpcId": "vpc-default"}]},
    "ec2.describe_internet_gateways": {"InternetGateways": [{"InternetGatewayId": "igw-default"}]},
    "ec2.describe_addresses": {"Addresses": []},
    "ec2.describe_nat_gateways": {"NatGateways": []},
    "ec2.describe_vpc_attribute": {"VpcId": VPC, "EnableDnsSupport": {"Value": True}},
    "ec2.describe_subnets": subnet(),
    "ec2.describe_security_groups": group(),
    "ec2.describe_route_tables": routes(NatGatewayId="nat-0123456789abcdef0"),
    "ec2.describe_vpc_endpoints": {"VpcEndpoints": [endpoint(RouteTableIds=["rtb-1"])]},
    "ec2.describe_network_interfaces": {
        "NetworkInterfaces": [{"NetworkInterfaceId": ENI, "Groups": [{"GroupId": GROUP}]}]
    },
    "ec2.describe_images": {
        "Images": [{"ImageId": "ami-0123456789abcdef0", "State": "available", "Architecture": "x86_64"}]
    },
    "service-quotas.list_service_quotas": quotas(),
    "service-quotas.list_aws_default_service_quotas": {"Quotas": []},
    "service-quotas.get_service_quota": one_quota(100_800.0),
    "sagemaker.list_clusters": clusters(),
    "sagemaker.describe_cluster": Refusal("ResourceNotFound", "Cluster with name ml not found"),
    "sagemaker.describe_training_plan": plan(),
    "fsx.describe_file_systems": _file_systems,
    "s3.head_bucket": {"BucketRegion": "us-west-2"},
    "s3.list_objects_v2": {"KeyCount": 1},
    "s3.list_buckets": {"Buckets": []},
    "kms.describe_key": key(),
    "secretsmanager.describe_secret": {"ARN": SECRET, "Name": "slurm"},
    "amp.describe_workspace": {
        "workspace": {
            "workspaceId": "ws-1",
            "arn": f"arn:aws:aps:us-west-2:{ACCOUNT}:workspace/ws-1",
            "status": {"statusCode": "ACTIVE"},
            "createdAt": datetime(2026, 1, 1, tzinfo=timezone.utc),
        }
    },
    "cloudwatch.describe_alarms": {"MetricAlarms": [{"AlarmName": "nodes-lost"}]},
    "iam.get_role": _role_by_name,
    "iam.get_policy": {"Policy": {"Arn": BOUNDARY, "DefaultVersionId": "v1"}},
    "iam.get_policy_version": policy_version(),
    "iam.simulate_principal_policy": decisions(),
    "iam.simulate_custom_policy": decisions(),
}
