"""For each check of the account: a file and an account in which it passes, and such in which it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from tests.unit.checks import account as aws
from tests.unit.checks import subjects as file
from tests.unit.checks.recorded import Refusal
from unbroken.checks.result import Verdict

FAIL, UNKNOWN = Verdict.FAIL, Verdict.UNKNOWN


@dataclass(frozen=True)
class Case:
    """One check, one file, one account."""

    check: str
    words: str
    """Part of what it finds."""
    config: dict[str, Any] = field(default_factory=lambda: file.PLAIN)
    answers: dict[str, Any] = field(default_factory=dict)
    """What differs from the healthy account."""
    verdict: Verdict = Verdict.PASS

    def __str__(self) -> str:
        return f"{self.check}: {self.words}"


GOOD: tuple[Case, ...] = (
    Case("account-identity", "account 111122223333"),
    Case("account-arns", "1 of account", file.WITH_ROLE),
    Case("account-region", "opt-in-not-required"),
    Case("account-bootstrap", "version 25"),
    Case("account-identity-center", "ssoins", file.WITH_GRAFANA),
    Case("quota-instances", "4 needed, 8 allowed"),
    Case("quota-spot-instances", "4 needed, 4 allowed", file.SPOT),
    Case("quota-instances-per-cluster", "5 needed, 20 allowed"),
    Case("quota-instances-total", "5 needed, 30 allowed"),
    Case("quota-volume-size", "500 needed, 1,024 allowed"),
    Case("quota-vpcs", "1 needed beside 1 in use"),
    Case("quota-internet-gateways", "1 needed beside 1 in use"),
    Case("quota-elastic-ips", "1 needed, 100,800 allowed"),
    Case("quota-nat-gateways", "1 needed, 100,800 allowed"),
    Case("quota-lustre-capacity", "1,200 needed, 100,800 allowed"),
    Case("quota-openzfs-capacity", "64 needed", file.NEW_HOME),
    Case("zone-available", "usw2-az4 is us-west-2d here"),
    Case("type-in-zone", "ml.p4de.24xlarge in usw2-az4"),
    Case("training-plan", "p5: Scheduled, 4 instances", file.PLANNED),
    Case("names-stacks", "ml-network: not there"),
    Case("names-cluster", "no cluster ml"),
    Case(
        "names-buckets",
        "sagemaker-ml-abc-111122223333-us-west-2 is free",
        answers={"s3.head_bucket": Refusal("404", "Not Found")},
    ),
    Case(
        "names-key-alias",
        "alias/ml is free",
        answers={"kms.describe_key": Refusal("NotFoundException", "Alias is not found.")},
    ),
    Case("names-leftovers", "none tagged ml"),
    Case("permissions-deployer", "role/Deployer: 4 actions allowed"),
    Case("permissions-cloudformation", "cfn-exec-role"),
    Case("service-linked-roles", "AWSServiceRoleForSageMakerHyperPod"),
    Case("permissions-nodes", "actions allowed"),
    Case("permissions-boundary", "policy/boundary", file.WITH_BOUNDARY),
    Case("role-trust", "trusts sagemaker.amazonaws.com", file.WITH_ROLE),
    Case("role-permissions", "HyperPodNodes: ", file.WITH_ROLE),
    Case("network-vpc", aws.VPC, file.IN_VPC),
    Case("network-subnet-zone", "in usw2-az4", file.IN_VPC),
    Case("network-addresses", "30000 free", file.IN_VPC),
    Case("network-private", "private", file.IN_VPC),
    Case("network-route-to-s3", "gateway endpoint", file.IN_VPC),
    Case("network-way-out", "by nat-", file.IN_VPC),
    Case("network-efa-rules", "both ways", file.IN_VPC),
    Case("network-lustre-ports", "into the file system: open", file.WITH_FILE_SYSTEM),
    Case("file-system", "PERSISTENT_2, 2.15, AVAILABLE", file.WITH_FILE_SYSTEM),
    Case("file-system-zone", "usw2-az4", file.WITH_FILE_SYSTEM),
    Case("home-file-system", "SINGLE_AZ_HA_2", file.WITH_HOME),
    Case("buckets", "models/released: readable", file.WITH_BUCKET),
    Case("images", "x86_64", file.WITH_IMAGE),
    Case("keys", "enabled", file.WITH_KEY),
    Case("accounting-secret", "secret:slurm", file.WITH_DATABASE),
    Case("accounting-endpoint", "accounting.example.com is 10.0.0.7", file.WITH_DATABASE),
    Case("workspaces", "active", file.WITH_WORKSPACE),
    Case("rollback-alarms", "nodes-lost", file.WITH_ALARM),
)

_ROOT = {"Account": aws.ACCOUNT, "Arn": f"arn:aws:iam::{aws.ACCOUNT}:root", "UserId": aws.ACCOUNT}
_OTHER = {"Account": "999999999999", "Arn": "arn:aws:iam::999999999999:user/me", "UserId": "AIDAEXAMPLE"}
_EXPIRED = Refusal("ExpiredToken", "The security token included in the request is expired")
_ENDED = datetime(2026, 1, 1, tzinfo=timezone.utc)
_DENIED = aws.decisions("implicitDeny")
_SCP = aws.decisions("explicitDeny", OrganizationsDecisionDetail={"AllowedByOrganizations": False})
_UNSURE = aws.decisions("implicitDeny", MissingContextValues=["aws:RequestTag/team"])
_NO_ROLE = Refusal("NoSuchEntity", "The role cannot be found.")
_GONE = Refusal("ResourceNotFoundException", "not found")
_TWO = {
    "sagemaker.list_clusters": aws.clusters("other"),
    "sagemaker.describe_cluster": aws.cluster("other", number=6),
}
_PORTS = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}


def _quota(name: str, value: float) -> dict[str, Any]:
    return {"service-quotas.list_service_quotas": aws.quotas({name: value})}


_NO_QUOTA = {"service-quotas.get_service_quota": aws.one_quota(0.0)}
_UNKNOWN_QUOTA = {
    "service-quotas.get_service_quota": Refusal("NoSuchResourceException"),
    "service-quotas.get_aws_default_service_quota": Refusal("NoSuchResourceException"),
}


def _planned(**changed: Any) -> dict[str, Any]:
    return {"sagemaker.describe_training_plan": aws.plan(**changed)}


_CLOSED = {
    "ec2.describe_route_tables": aws.routes(),
    "ec2.describe_vpc_endpoints": {
        "VpcEndpoints": [
            aws.endpoint(name, "Interface", PrivateDnsEnabled=True)
            for name in ("ec2", "ec2messages", "logs", "monitoring", "ssm", "ssmmessages", "sts")
        ]
    },
}
_DEPLOYED = {"cloudformation.describe_stacks": aws.stack("UPDATE_COMPLETE")}
_OWN_TAG = [{"Key": "unbroken:cluster", "Value": "ml"}]
ALSO_GOOD: tuple[Case, ...] = (
    Case("network-way-out", "by endpoints", file.IN_VPC, _CLOSED),
    Case("names-stacks", "ml-network: UPDATE_COMPLETE", answers=_DEPLOYED),
    *(
        Case("names-stacks", "makes anew", answers={"cloudformation.describe_stacks": aws.stack(status)})
        for status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")
    ),
    Case(
        "names-cluster",
        "own, and in service",
        answers=_DEPLOYED | {"sagemaker.describe_cluster": aws.cluster()},
    ),
    Case("names-buckets", "this file's own", answers=_DEPLOYED),
    Case("names-key-alias", "this file's own", answers=_DEPLOYED),
    Case(
        "names-leftovers",
        "1 of the deployed stack",
        answers=_DEPLOYED | {"fsx.describe_file_systems": aws.lustre(Tags=_OWN_TAG)},
    ),
    Case("quota-vpcs", "0 needed beside 1 in use", answers=_DEPLOYED),
    Case(
        "quota-lustre-capacity",
        "1,200 needed beside 1,200 in use",
        file.LARGER,
        _DEPLOYED | {"fsx.describe_file_systems": aws.lustre(Tags=_OWN_TAG)},
    ),
    Case(
        "quota-openzfs-capacity",
        "0 needed beside 64 in use",
        file.NEW_HOME,
        _DEPLOYED | {"fsx.describe_file_systems": aws.openzfs(Tags=_OWN_TAG)},
    ),
    Case(
        "quota-elastic-ips",
        "0 needed beside 5 in use, 5 allowed",
        answers=_DEPLOYED
        | {
            "ec2.describe_addresses": {"Addresses": [{"PublicIp": f"198.51.100.{n}"} for n in range(5)]},
            "service-quotas.get_service_quota": aws.one_quota(5.0),
        },
    ),
    Case(
        "quota-vpcs",
        "7 allowed",
        answers={
            "service-quotas.get_service_quota": Refusal("NoSuchResourceException"),
            "service-quotas.get_aws_default_service_quota": aws.one_quota(7.0),
        },
    ),
    Case(
        "quota-instances",
        "4 needed, 4 allowed",
        answers={
            "service-quotas.list_service_quotas": {"Quotas": []},
            "service-quotas.list_aws_default_service_quotas": aws.quotas(
                {"ml.p4de.24xlarge for cluster usage": 4.0}
            ),
        },
    ),
    Case(
        "service-linked-roles",
        "actions allowed",
        answers={"iam.get_role": Refusal("NoSuchEntity", "The role cannot be found.")},
    ),
    Case("network-lustre-ports", "open", file.IN_VPC),
    Case("buckets", "results: readable", file.WITH_RESULTS, {"s3.list_objects_v2": {"KeyCount": 0}}),
)
"""Further ways to pass: deployed already, a default instead of an applied quota, endpoints instead of NAT."""
BAD: tuple[Case, ...] = (
    Case("account-identity", "root user", answers={"sts.get_caller_identity": _ROOT}, verdict=UNKNOWN),
    Case("account-identity", "expired", answers={"sts.get_caller_identity": _EXPIRED}, verdict=UNKNOWN),
    Case("account-arns", "999999999999", file.WITH_ROLE, {"sts.get_caller_identity": _OTHER}, FAIL),
    Case(
        "account-region",
        "not-opted-in",
        answers={
            "ec2.describe_regions": {"Regions": [{"RegionName": "us-west-2", "OptInStatus": "not-opted-in"}]}
        },
        verdict=FAIL,
    ),
    Case(
        "account-region",
        "did not say",
        answers={"ec2.describe_regions": Refusal("InvalidParameterValue")},
        verdict=UNKNOWN,
    ),
    Case(
        "account-bootstrap",
        "there is no parameter",
        answers={"ssm.get_parameter": Refusal("ParameterNotFound")},
        verdict=FAIL,
    ),
    Case(
        "account-bootstrap",
        "version 5",
        answers={"ssm.get_parameter": {"Parameter": {"Value": "5"}}},
        verdict=FAIL,
    ),
    Case(
        "account-identity-center",
        "none in us-west-2",
        file.WITH_GRAFANA,
        {"sso-admin.list_instances": {"Instances": []}},
        UNKNOWN,
    ),
    Case(
        "quota-instances",
        "4 needed, 0 allowed",
        answers=_quota("ml.p4de.24xlarge for cluster usage", 0.0),
        verdict=FAIL,
    ),
    Case("quota-instances", "4 needed beside 6 in use, 8 allowed", answers=_TWO, verdict=FAIL),
    Case(
        "quota-instances",
        "no value was found",
        answers={
            "service-quotas.list_service_quotas": {"Quotas": []},
            "service-quotas.list_aws_default_service_quotas": {"Quotas": []},
        },
        verdict=UNKNOWN,
    ),
    Case(
        "quota-instances",
        "does not say whether",
        file.PLANNED,
        _quota("ml.p5.48xlarge for cluster usage", 0.0),
        UNKNOWN,
    ),
    Case(
        "quota-spot-instances",
        "4 needed, 1 allowed",
        file.SPOT,
        _quota("ml.p4de.24xlarge for cluster spot instance usage", 1.0),
        FAIL,
    ),
    Case("quota-instances-per-cluster", "5 needed, 4", answers=_quota(aws.PER_CLUSTER, 4.0), verdict=FAIL),
    Case("quota-instances-total", "5 needed beside 6", answers=_TWO | _quota(aws.IN_ALL, 8.0), verdict=FAIL),
    Case("quota-volume-size", "500 needed, 100", answers=_quota(aws.VOLUME, 100.0), verdict=FAIL),
    *(
        Case(name, words, answers=answers, verdict=verdict)
        for name in ("quota-vpcs", "quota-internet-gateways", "quota-elastic-ips", "quota-nat-gateways")
        for words, answers, verdict in (("0 allowed", _NO_QUOTA, FAIL), ("no value", _UNKNOWN_QUOTA, UNKNOWN))
    ),
    Case("quota-lustre-capacity", "0 allowed", answers=_NO_QUOTA, verdict=FAIL),
    Case("quota-openzfs-capacity", "0 allowed", file.NEW_HOME, _NO_QUOTA, FAIL),
    Case(
        "zone-available",
        "not among its zones: usw2-az4",
        answers={
            "ec2.describe_availability_zones": {
                "AvailabilityZones": [{"ZoneId": "usw2-az1", "ZoneName": "us-west-2a", "State": "available"}]
            }
        },
        verdict=FAIL,
    ),
    Case(
        "type-in-zone",
        "in usw2-az1, not in usw2-az4",
        answers={
            "ec2.describe_instance_type_offerings": {
                "InstanceTypeOfferings": [{"LocationType": "availability-zone-id", "Location": "usw2-az1"}]
            }
        },
        verdict=FAIL,
    ),
    Case(
        "type-in-zone",
        "its subnet was not found",
        file.IN_OWN_SUBNET,
        {"ec2.describe_subnets": {"Subnets": []}},
        UNKNOWN,
    ),
    Case(
        "type-in-zone",
        "not in usw2-az9",
        file.IN_OWN_SUBNET,
        {"ec2.describe_subnets": aws.subnet(SubnetId=file.OWN_SUBNET, AvailabilityZoneId="usw2-az9")},
        FAIL,
    ),
    Case(
        "type-in-zone",
        "names no zone",
        answers={"ec2.describe_instance_type_offerings": {"InstanceTypeOfferings": []}},
        verdict=UNKNOWN,
    ),
    Case(
        "training-plan",
        "there is no training plan",
        file.PLANNED,
        {"sagemaker.describe_training_plan": Refusal("ResourceNotFound")},
        FAIL,
    ),
    Case("training-plan", "it is Expired", file.PLANNED, _planned(Status="Expired"), FAIL),
    Case("training-plan", "it ended on", file.PLANNED, _planned(EndTime=_ENDED), FAIL),
    Case("training-plan", "training-job", file.PLANNED, _planned(TargetResources=["training-job"]), FAIL),
    Case(
        "training-plan",
        "1 of 4 instances are available, 4 wanted",
        file.PLANNED,
        _planned(AvailableInstanceCount=1),
        UNKNOWN,
    ),
    Case("training-plan", "it has 3 instances", file.PLANNED, _planned(TotalInstanceCount=3), FAIL),
    Case(
        "training-plan",
        "not ml.p5.48xlarge",
        file.PLANNED,
        _planned(reserved={"InstanceType": "ml.p4d.24xlarge"}),
        FAIL,
    ),
    Case(
        "training-plan",
        "is in usw2-az1",
        file.PLANNED,
        _planned(reserved={"AvailabilityZoneId": "", "AvailabilityZone": "us-west-2a"}),
        FAIL,
    ),
    *(
        Case(
            "names-stacks",
            status,
            answers={"cloudformation.describe_stacks": aws.stack(status)},
            verdict=FAIL,
        )
        for status in ("UPDATE_IN_PROGRESS", "DELETE_FAILED", "UPDATE_ROLLBACK_FAILED")
    ),
    Case(
        "names-cluster",
        "made by something else",
        answers={"sagemaker.describe_cluster": aws.cluster()},
        verdict=FAIL,
    ),
    Case(
        "names-cluster",
        "ml: Failed",
        answers={
            "sagemaker.describe_cluster": aws.cluster(status="Failed"),
            "cloudformation.describe_stacks": aws.stack("CREATE_COMPLETE"),
        },
        verdict=FAIL,
    ),
    Case("names-buckets", "left from an earlier deployment", verdict=FAIL),
    Case(
        "names-buckets",
        "belongs to another account",
        answers={"s3.head_bucket": Refusal("403", "Forbidden")},
        verdict=FAIL,
    ),
    Case(
        "names-buckets",
        "not readable",
        answers={
            "s3.head_bucket": Refusal("403", "Forbidden"),
            "s3.list_buckets": {"Buckets": [{"Name": "sagemaker-ml-abc-111122223333-us-west-2"}]},
        },
        verdict=UNKNOWN,
    ),
    Case("names-key-alias", "alias/ml is taken", verdict=FAIL),
    Case(
        "names-leftovers",
        f"{aws.FILE_SYSTEM} (LUSTRE, 1,200 GiB)",
        answers={"fsx.describe_file_systems": aws.lustre(Tags=[{"Key": "unbroken:cluster", "Value": "ml"}])},
        verdict=UNKNOWN,
    ),
    *(
        Case(name, words, config, {f"iam.simulate_{what}_policy": answer}, verdict)
        for name, config, what in (
            ("permissions-deployer", file.PLAIN, "principal"),
            ("permissions-cloudformation", file.PLAIN, "principal"),
            ("permissions-nodes", file.PLAIN, "custom"),
            ("role-permissions", file.WITH_ROLE, "principal"),
        )
        for words, answer, verdict in (
            ("may not", _DENIED, FAIL),
            ("a policy of the organization", _SCP, FAIL),
            ("depends on aws:RequestTag/team", _UNSURE, UNKNOWN),
            ("gave no decision", {"EvaluationResults": []}, UNKNOWN),
        )
    ),
    Case("permissions-deployer", "cannot be looked up", answers={"iam.get_role": _NO_ROLE}, verdict=UNKNOWN),
    Case(
        "permissions-nodes",
        "was not found",
        file.WITH_BOUNDARY,
        {"iam.get_policy": Refusal("NoSuchEntity")},
        UNKNOWN,
    ),
    Case(
        "service-linked-roles",
        "AWSServiceRoleForSageMakerHyperPod, AWSServiceRoleForAmazonFSx missing",
        answers={"iam.get_role": _NO_ROLE, "iam.simulate_principal_policy": _DENIED},
        verdict=FAIL,
    ),
    Case(
        "permissions-boundary",
        "there is no policy",
        file.WITH_BOUNDARY,
        {"iam.get_policy": Refusal("NoSuchEntity")},
        FAIL,
    ),
    Case("role-trust", "there is no role", file.WITH_ROLE, {"iam.get_role": _NO_ROLE}, FAIL),
    Case(
        "role-trust",
        "does not trust",
        file.WITH_ROLE,
        {"iam.get_role": aws.role(service="ec2.amazonaws.com")},
        FAIL,
    ),
    Case(
        "network-vpc",
        "there is no vpc-",
        file.IN_VPC,
        {"ec2.describe_vpc_attribute": Refusal("InvalidVpcID.NotFound")},
        FAIL,
    ),
    Case(
        "network-vpc",
        "does not resolve",
        file.IN_VPC,
        {"ec2.describe_vpc_attribute": {"EnableDnsSupport": {"Value": False}}},
        FAIL,
    ),
    Case(
        "network-vpc",
        "(in vpc-other)",
        file.IN_VPC,
        {"ec2.describe_subnets": aws.subnet(VpcId="vpc-other")},
        FAIL,
    ),
    Case(
        "network-vpc", aws.GROUP, file.IN_VPC, {"ec2.describe_security_groups": {"SecurityGroups": []}}, FAIL
    ),
    Case(
        "network-subnet-zone",
        "is in usw2-az1",
        file.IN_VPC,
        {"ec2.describe_subnets": aws.subnet(AvailabilityZoneId="usw2-az1")},
        FAIL,
    ),
    Case(
        "network-addresses",
        "3 free",
        file.IN_VPC,
        {"ec2.describe_subnets": aws.subnet(AvailableIpAddressCount=3)},
        FAIL,
    ),
    Case(
        "network-private",
        "leads to igw-",
        file.IN_VPC,
        {"ec2.describe_route_tables": aws.routes(GatewayId="igw-1")},
        FAIL,
    ),
    Case(
        "network-route-to-s3",
        "no way out",
        file.IN_VPC,
        {"ec2.describe_vpc_endpoints": {"VpcEndpoints": []}, "ec2.describe_route_tables": aws.routes()},
        FAIL,
    ),
    Case(
        "network-route-to-s3",
        "tgw-1",
        file.IN_VPC,
        {
            "ec2.describe_vpc_endpoints": {"VpcEndpoints": []},
            "ec2.describe_route_tables": aws.routes(TransitGatewayId="tgw-1"),
        },
        UNKNOWN,
    ),
    Case(
        "network-way-out",
        "no endpoint for ec2",
        file.IN_VPC,
        {"ec2.describe_route_tables": aws.routes()},
        FAIL,
    ),
    Case(
        "network-way-out",
        "igw-1",
        file.IN_VPC,
        {"ec2.describe_route_tables": aws.routes(GatewayId="igw-1")},
        FAIL,
    ),
    Case(
        "network-way-out",
        "tgw-1",
        file.IN_VPC,
        {"ec2.describe_route_tables": aws.routes(TransitGatewayId="tgw-1")},
        UNKNOWN,
    ),
    *(
        Case(
            "network-efa-rules",
            words,
            file.IN_VPC,
            {"ec2.describe_security_groups": aws.group(ways=ways)},
            FAIL,
        )
        for words, ways in (("itself out", ("in",)), ("itself in", ("out",)), ("in and none out", ()))
    ),
    Case(
        "network-lustre-ports",
        "out of the file system: 988, 1018-1023 closed",
        file.WITH_FILE_SYSTEM,
        {"ec2.describe_security_groups": aws.group(ways=("in",))},
        FAIL,
    ),
    Case(
        "network-lustre-ports",
        "into the file system: 1018-1023 closed",
        file.WITH_FILE_SYSTEM,
        {
            "ec2.describe_security_groups": {
                "SecurityGroups": [
                    aws.group(ways=("out",))["SecurityGroups"][0] | {"IpPermissions": [_PORTS]}
                ]
            }
        },
        FAIL,
    ),
    Case(
        "network-lustre-ports",
        "were not found",
        file.WITH_FILE_SYSTEM,
        {"fsx.describe_file_systems": {"FileSystems": []}},
        UNKNOWN,
    ),
    Case(
        "file-system",
        "there is no fs-",
        file.WITH_FILE_SYSTEM,
        {"fsx.describe_file_systems": Refusal("FileSystemNotFound")},
        FAIL,
    ),
    *(
        Case(
            "file-system",
            words,
            file.WITH_FILE_SYSTEM,
            {"fsx.describe_file_systems": aws.lustre(**changed)},
            FAIL,
        )
        for words, changed in (
            ("it is FAILED", {"Lifecycle": "FAILED"}),
            ("it is OPENZFS", {"FileSystemType": "OPENZFS"}),
            ("its version is 2.10", {"FileSystemTypeVersion": "2.10"}),
            ("its DNS name is", {"DNSName": "fs-other.fsx.us-west-2.amazonaws.com"}),
            ("it is in vpc-00000000", {"VpcId": "vpc-00000000"}),
        )
    ),
    Case(
        "file-system-zone",
        "is in usw2-az1, the nodes in usw2-az4",
        file.WITH_FILE_SYSTEM,
        {"ec2.describe_subnets": aws.subnet(AvailabilityZoneId="usw2-az1")},
        FAIL,
    ),
    Case(
        "home-file-system", "it is LUSTRE", file.WITH_HOME, {"fsx.describe_file_systems": aws.lustre()}, FAIL
    ),
    Case("buckets", "there is no bucket", file.WITH_BUCKET, {"s3.head_bucket": Refusal("404")}, FAIL),
    Case(
        "buckets",
        "is in eu-west-1",
        file.WITH_BUCKET,
        {"s3.head_bucket": {"BucketRegion": "eu-west-1"}},
        FAIL,
    ),
    Case(
        "buckets", "nothing there to import", file.WITH_BUCKET, {"s3.list_objects_v2": {"KeyCount": 0}}, FAIL
    ),
    Case("images", "there is no ami-", file.WITH_IMAGE, {"ec2.describe_images": {"Images": []}}, FAIL),
    Case(
        "images",
        "there is no ami-",
        file.WITH_IMAGE,
        {"ec2.describe_images": Refusal("InvalidAMIID.NotFound")},
        FAIL,
    ),
    Case("keys", "there is no key", file.WITH_KEY, {"kms.describe_key": Refusal("NotFoundException")}, FAIL),
    Case(
        "keys",
        "PendingDeletion",
        file.WITH_KEY,
        {"kms.describe_key": aws.key(KeyState="PendingDeletion")},
        FAIL,
    ),
    Case(
        "accounting-secret", "no secret", file.WITH_DATABASE, {"secretsmanager.describe_secret": _GONE}, FAIL
    ),
    Case(
        "accounting-secret",
        "waits for its deletion",
        file.WITH_DATABASE,
        {"secretsmanager.describe_secret": {"ARN": aws.SECRET, "DeletedDate": _ENDED}},
        FAIL,
    ),
    Case(
        "workspaces", "there is no prometheus", file.WITH_WORKSPACE, {"amp.describe_workspace": _GONE}, FAIL
    ),
    Case(
        "rollback-alarms",
        "nodes-lost",
        file.WITH_ALARM,
        {"cloudwatch.describe_alarms": {"MetricAlarms": []}},
        FAIL,
    ),
)
