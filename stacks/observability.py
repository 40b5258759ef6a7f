"""Prometheus and Grafana, made or brought along, in a stack that nothing else waits for.

The right to write metrics is added to the nodes' role from here, so that a workspace that cannot be made
(Grafana needs IAM Identity Center or SAML) fails this stack and no other.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_aps, aws_grafana, aws_logs
from constructs import Construct

from stacks.base import ClusterStack, removal
from stacks.encryption import Encryption
from stacks.identity import IdentityStack
from stacks.permissions import Statement, allow, attach, role
from unbroken.config import ClusterConfig


class ObservabilityStack(ClusterStack):
    """Only made if the cluster file asks for a workspace."""

    def __init__(
        self, scope: Construct, config: ClusterConfig, identity: IdentityStack, encryption: Encryption
    ) -> None:
        super().__init__(scope, "observability", config, "Prometheus and Grafana")
        self._workspace_arn: str | None = None
        if config.observability.prometheus != "none":
            self._prometheus(config, identity, encryption)
        if config.observability.grafana != "none":
            self._grafana(config)

    def _prometheus(self, config: ClusterConfig, identity: IdentityStack, encryption: Encryption) -> None:
        workspace_id = config.observability.prometheus
        if workspace_id == "create":
            workspace_id = self._made_prometheus(config, encryption)
        self._workspace_arn = self.arn("aps", f"workspace/{workspace_id}")
        if identity.role_name is not None:
            attach(self, "RemoteWrite", identity.role_name, [_remote_write(self._workspace_arn)])
        host = f"aps-workspaces.{self.region}.{self.url_suffix}"
        url = f"https://{host}/workspaces/{workspace_id}/api/v1/remote_write"
        self.outputs({"PrometheusWorkspaceId": workspace_id, "PrometheusRemoteWriteUrl": url})

    def _made_prometheus(self, config: ClusterConfig, encryption: Encryption) -> str:
        """Returns its id. The service delivers logs to groups of this prefix without a policy of ours."""
        logs = aws_logs.CfnLogGroup(
            self,
            "PrometheusLogs",
            log_group_name=f"/aws/vendedlogs/prometheus/{config.name}",
            retention_in_days=config.logs.retention_days,
            kms_key_id=encryption.key_arn,
        )
        logs.apply_removal_policy(RemovalPolicy.DESTROY)
        workspace = aws_aps.CfnWorkspace(
            self,
            "Prometheus",
            alias=config.name,
            kms_key_arn=encryption.key_arn,
            logging_configuration=aws_aps.CfnWorkspace.LoggingConfigurationProperty(
                log_group_arn=logs.attr_arn
            ),
            workspace_configuration=aws_aps.CfnWorkspace.WorkspaceConfigurationProperty(
                retention_period_in_days=config.observability.metrics_retention_days
            ),
        )
        workspace.apply_removal_policy(removal(config.observability.deletion))
        return workspace.attr_workspace_id

    def _grafana(self, config: ClusterConfig) -> None:
        choice = config.observability.grafana
        if choice != "create":
            self.outputs({"GrafanaUrl": f"https://{choice}.grafana-workspace.{self.region}.amazonaws.com"})
            return
        reader = role(
            self,
            "GrafanaRole",
            service="grafana.amazonaws.com",
            description=f"Grafana of HyperPod cluster {config.name}",
            policies={"query": self._query()},
            trust={"StringEquals": {"aws:SourceAccount": self.account}},
        )
        workspace = aws_grafana.CfnWorkspace(
            self,
            "Grafana",
            name=config.name,
            account_access_type="CURRENT_ACCOUNT",
            authentication_providers=[config.observability.grafana_authentication or "AWS_SSO"],
            permission_type="CUSTOMER_MANAGED",
            data_sources=["PROMETHEUS", "CLOUDWATCH"],
            role_arn=reader.role_arn,
        )
        workspace.apply_removal_policy(removal(config.observability.deletion))
        self.outputs({"GrafanaUrl": f"https://{workspace.attr_endpoint}"})

    def _query(self) -> list[Statement]:
        statements = [_list_workspaces(), _metrics()]
        if self._workspace_arn is not None:
            statements.append(_query_workspace(self._workspace_arn))
        return statements


def _remote_write(workspace_arn: str) -> Statement:
    return allow(
        "RemoteWrite",
        ["aps:RemoteWrite"],
        [workspace_arn],
        purpose="Nodes write metrics to this workspace. They cannot read them.",
    )


def _query_workspace(workspace_arn: str) -> Statement:
    return allow(
        "Query",
        [
            "aps:DescribeWorkspace", "aps:GetLabels", "aps:GetMetricMetadata", "aps:GetSeries",
            "aps:QueryMetrics",
        ],
        [workspace_arn],
        purpose="Dashboards read this cluster's metrics, and those of no other workspace.",
    )  # fmt: skip


def _list_workspaces() -> Statement:
    return allow(
        "Find",
        ["aps:ListWorkspaces"],
        ["*"],
        purpose="Grafana offers the workspaces there are as data sources. Prometheus takes no resource here.",
    )


def _metrics() -> Statement:
    return allow(
        "CloudWatchMetrics",
        ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics"],
        ["*"],
        purpose="Dashboards show the file systems' metrics. CloudWatch takes no resource here.",
    )
