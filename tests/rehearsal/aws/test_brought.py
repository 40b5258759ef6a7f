"""Stand-ins for what cluster files bring along."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unbroken import config
from unbroken.rehearsal.aws.brought import bring
from unbroken.rehearsal.composition import Rehearsal
from unbroken.rehearsal.hyperpod.machines import Reach

CLUSTERS = Path(__file__).resolve().parents[3] / "clusters"


def test_an_existing_vpc_is_one_nodes_can_work_in(rehearsal: Rehearsal) -> None:
    declared = config.load(CLUSTERS / "existing-vpc.yaml")
    made = bring(declared, rehearsal.aws)
    assert {one.split()[0] for one in made} == {"VPC", "subnet", "security", "file", "bucket", "role"}
    assert bring(declared, rehearsal.aws) == []
    existing, store = declared.network.existing, rehearsal.store
    assert existing is not None and declared.storage.existing is not None
    subnet = store.subnet(existing.private_subnet_id)
    assert subnet is not None and subnet.vpc_id == existing.vpc_id
    assert subnet.availability_zone_id == declared.network.availability_zone_id
    assert isinstance(store.reach(subnet.subnet_id), Reach)
    assert "s3" in store.reach(subnet.subnet_id) and "logs" in store.reach(subnet.subnet_id)
    for group_id in existing.security_group_ids:
        group = store.security_group(group_id)
        assert group is not None and group.self_ingress and group.self_egress
    lustre = declared.storage.existing
    [system] = [one for one in store.file_systems() if one.file_system_id == lustre.file_system_id]
    assert (system.dns_name, system.mount_name) == (lustre.dns_name, lustre.mount_name)
    assert store.role(str(declared.identity.execution_role_arn)) is not None


@pytest.mark.parametrize(
    ("name", "kinds"), [("everything", {"bucket", "policy", "KMS"}), ("api", {"secret"}), ("small", set())]
)
def test_the_other_examples(
    rehearsal: Rehearsal, client: Callable[[str], Any], name: str, kinds: set[str]
) -> None:
    declared = config.load(CLUSTERS / f"{name}.yaml")
    assert {one.split()[0] for one in bring(declared, rehearsal.aws)} == kinds
    for group in declared.groups():
        if group.volume_kms_key:
            found = client("kms").describe_key(KeyId=group.volume_kms_key)["KeyMetadata"]
            assert (found["Arn"], found["KeyState"]) == (group.volume_kms_key, "Enabled")
    database = declared.slurm.accounting_database
    if database:
        secret = client("secretsmanager").get_secret_value(SecretId=database.secret_arn)
        assert secret["ARN"] == database.secret_arn and "password" in secret["SecretString"]
