"""VPC endpoints: S3 always, and in a closed network whatever nodes need of AWS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.synth.build import Synth, synth
from tests.synth.test_network import tables
from unbroken.config import AccountingDatabase, ObservabilityConfig, SlurmConfig


def endpoints(synth: Synth) -> dict[str, dict[str, Any]]:
    """Properties of the VPC endpoints, by service."""
    return {
        body["Properties"]["ServiceName"].removeprefix(f"com.amazonaws.{synth.config.region}."): body[
            "Properties"
        ]
        for body in synth.resources("network", "AWS::EC2::VPCEndpoint").values()
    }


def test_s3_is_reached_past_the_nat_gateway_from_every_private_subnet(example: Synth) -> None:
    if example.config.network.existing:
        assert endpoints(example) == {}
        return
    s3 = endpoints(example)["s3"]
    assert s3["VpcEndpointType"] == "Gateway"
    private = {table for subnet, table in tables(example).items() if subnet != "PublicSubnet"}
    assert {table["Ref"] for table in s3["RouteTableIds"]} == private


def test_a_closed_network_has_the_endpoints_nodes_need(closed: Synth, mathstral: Synth) -> None:
    assert set(endpoints(closed)) == {
        "s3", "ec2", "ec2messages", "logs", "monitoring", "ssm", "ssmmessages", "sts",
    }  # fmt: skip
    assert set(endpoints(mathstral)) == {"s3"}
    for service, endpoint in endpoints(closed).items():
        if service != "s3":
            assert endpoint["VpcEndpointType"] == "Interface"
            assert endpoint["PrivateDnsEnabled"] is True
            assert endpoint["SubnetIds"] == [{"Ref": "PrivateSubnet"}]
            assert endpoint["SecurityGroupIds"] == [{"Fn::GetAtt": ["EndpointGroup", "GroupId"]}]


def closed_with(closed: Synth, folder: Path, **sections: Any) -> Synth:
    """The closed cluster with other sections."""
    return synth(closed.config.model_copy(update=sections), folder)


def test_what_a_cluster_uses_besides_gets_an_endpoint_that_does_no_more(
    closed: Synth, tmp_path: Path
) -> None:
    database = AccountingDatabase(
        endpoint="db.example.com",
        secret_arn="arn:aws:secretsmanager:us-west-2:111122223333:secret:db-AbCdEf",  # noqa: S106  (a name)
    )
    found = endpoints(
        closed_with(
            closed,
            tmp_path,
            node_provisioning="Continuous",
            slurm=SlurmConfig(mode="api", accounting_database=database),
            observability=ObservabilityConfig(prometheus="ws-12345678-1234-1234-1234-123456789012"),
        )
    )
    actions = {}
    for service in ("aps-workspaces", "fsx", "secretsmanager"):
        [statement] = found[service]["PolicyDocument"]["Statement"]
        actions[service] = statement["Action"]
        assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}
    assert actions == {
        "aps-workspaces": ["aps:RemoteWrite"],
        "fsx": ["fsx:DescribeFileSystems"],
        "secretsmanager": ["secretsmanager:GetSecretValue"],
    }
    assert found["secretsmanager"]["PolicyDocument"]["Statement"][0]["Resource"] == [database.secret_arn]


def test_endpoints_are_reached_by_nodes_over_https_and_reach_nothing(closed: Synth) -> None:
    group = closed.resources("network", "AWS::EC2::SecurityGroup")["EndpointGroup"]["Properties"]
    [rule] = group["SecurityGroupIngress"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 443, 443)
    assert rule["SourceSecurityGroupId"] == {"Fn::GetAtt": ["SecurityGroup", "GroupId"]}
    [nowhere] = group["SecurityGroupEgress"]
    assert nowhere["CidrIp"] == "255.255.255.255/32"
