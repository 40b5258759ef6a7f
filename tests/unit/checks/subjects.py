"""Subjects for checks: a cluster file given as what differs from the smallest one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.checks import templates
from tests.unit.checks.account import BOUNDARY, FILE_SYSTEM, GROUP, HOME, KEY, PLAN, ROLE, SECRET, SUBNET, VPC
from unbroken.aws import Aws
from unbroken.checks.subject import Account, Missing, Program, Programs, Subject
from unbroken.config import ClusterConfig

WORKER = {"name": "w", "instance_type": "ml.p4de.24xlarge", "num_instances": 4}
PLAIN: dict[str, Any] = {"name": "ml", "worker_groups": [WORKER]}
IN_VPC: dict[str, Any] = PLAIN | {
    "network": {"existing": {"vpc_id": VPC, "private_subnet_id": SUBNET, "security_group_ids": [GROUP]}}
}
OWN_SUBNET = "subnet-0fedcba9876543210"
IN_OWN_SUBNET: dict[str, Any] = IN_VPC | {"worker_groups": [WORKER | {"subnet": OWN_SUBNET}]}
WITH_FILE_SYSTEM: dict[str, Any] = IN_VPC | {
    "storage": {
        "existing": {
            "file_system_id": FILE_SYSTEM,
            "dns_name": f"{FILE_SYSTEM}.fsx.us-west-2.amazonaws.com",
            "mount_name": "abcdef01",
        }
    }
}
WITH_HOME: dict[str, Any] = IN_VPC | {
    "home": {"existing": {"file_system_id": HOME, "dns_name": f"{HOME}.fsx.us-west-2.amazonaws.com"}}
}
NEW_HOME: dict[str, Any] = PLAIN | {"home": {}}
WITH_ROLE: dict[str, Any] = PLAIN | {"identity": {"execution_role_arn": ROLE}}
WITH_BOUNDARY: dict[str, Any] = PLAIN | {"identity": {"permissions_boundary": BOUNDARY}}
WITH_KEY: dict[str, Any] = PLAIN | {"encryption": {"kms_key": KEY}}
WITH_BUCKET: dict[str, Any] = PLAIN | {
    "storage": {"data_repositories": [{"bucket": "models", "prefix": "released", "export_events": []}]}
}
WITH_RESULTS: dict[str, Any] = PLAIN | {
    "storage": {"data_repositories": [{"bucket": "results", "import_events": []}]}
}
LARGER: dict[str, Any] = PLAIN | {"storage": {"capacity_gib": 2400}}
SPOT: dict[str, Any] = PLAIN | {"worker_groups": [WORKER | {"capacity": "spot"}]}
PLANNED: dict[str, Any] = PLAIN | {
    "worker_groups": [
        WORKER
        | {
            "instance_type": "ml.p5.48xlarge",
            "training_plan": {"arn": PLAN, "availability_zone_id": "usw2-az4"},
        }
    ]
}
WITH_IMAGE: dict[str, Any] = PLAIN | {"worker_groups": [WORKER | {"image_id": "ami-0123456789abcdef0"}]}
WITH_ALARM: dict[str, Any] = PLAIN | {
    "worker_groups": [
        WORKER
        | {
            "scheduled_update": {
                "schedule": "cron(0 3 ? * SUN *)",
                "rolling": {"max_nodes": 1, "rollback_alarms": ["nodes-lost"]},
            }
        }
    ]
}
WITH_GRAFANA: dict[str, Any] = PLAIN | {
    "observability": {"prometheus": "create", "grafana": "create", "grafana_authentication": "AWS_SSO"}
}
WITH_WORKSPACE: dict[str, Any] = PLAIN | {
    "observability": {"prometheus": "ws-12345678-1234-1234-1234-123456789012"}
}
WITH_DATABASE: dict[str, Any] = PLAIN | {
    "node_provisioning": "Continuous",
    "slurm": {
        "mode": "api",
        "accounting_database": {"endpoint": "accounting.example.com", "secret_arn": SECRET},
    },
}

GOOD_PROGRAMS = Programs(
    aws=Program("/usr/bin/aws", "aws-cli/2.31.1 Python/3.13.7 Linux/6.8"),
    session_manager_plugin=Program("/usr/bin/session-manager-plugin", "1.2.764.0"),
    node=Program("/usr/bin/node", "v24.19.0"),
    cdk=Program("/usr/bin/cdk", "2.1148.1"),
)


def subject(
    folder: Path,
    config: dict[str, Any] | None = None,
    aws: Aws | None = None,
    documents: templates.Documents | Missing | None = None,
    bundles: dict[str, Path] | Missing | None = None,
    programs: Programs = GOOD_PROGRAMS,
) -> Subject:
    made = (
        documents
        if isinstance(documents, Missing)
        else templates.written(documents or templates.documents(), folder)
    )
    return Subject(
        path=Path("cluster.yaml"),
        config=ClusterConfig.model_validate(config or PLAIN),
        bundles=Missing("not rendered", "render them", wrong=False) if bundles is None else bundles,
        templates=made,
        programs=programs,
        account=Account(aws) if aws else None,
    )
