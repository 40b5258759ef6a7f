"""The rules between sections: what is refused, in which words, and that its neighbour is taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.config.build import told, worker
from unbroken.catalog import instance_types

KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/december"
ROLE = "arn:aws:iam::111122223333:role/HyperPodNodes"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:accounting-AbCdEf"  # noqa: S105  (its name)
DATABASE = {"endpoint": "db.example.com", "secret_arn": SECRET}
SPARE = {"name": "spare", "availability_zone_id": "usw2-az3", "cidr": "10.0.64.0/20"}
VPC = {"vpc_id": "vpc-0123456789abcdef0", "private_subnet_id": "subnet-0123456789abcdef0"}
SMALL = {"instance_type": "ml.m5.large"}


def plan(zone: str, arn: str = PLAN) -> dict[str, Any]:
    return {"arn": arn, "availability_zone_id": zone}


def spare(**changes: Any) -> dict[str, Any]:
    return worker(name="w2", subnet="spare", **changes)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"region": "eu-west-1"},
            "usw2-az4 is not a zone of eu-west-1 -> use the id of one of its zones, such as euw1",
        ),
        (
            {"network": {"subnets": [{**SPARE, "availability_zone_id": "use1-az3"}]}},
            "subnets[0].availability_zone_id: use1-az3 is not a zone of us-west-2",
        ),
        (
            {"worker_groups": [worker(training_plan=plan("usw2-az2"))]},
            "zone_id: usw2-az2 is the plan's zone, but the group's subnet is in usw2-az4",
        ),
        (
            {
                "network": {"subnets": [SPARE]},
                "worker_groups": [worker(), spare(training_plan=plan("usw2-az2"))],
            },
            "usw2-az2 is the plan's zone, but the group's subnet is in usw2-az3",
        ),
        (
            {"network": {"subnets": [SPARE]}, "worker_groups": [worker(subnet="spare")]},
            "is in usw2-az3, but the file system, which the job of the first group reads, is in usw2-az4",
        ),
    ],
)
def test_up_008_zones_that_disagree_are_both_named(sections: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(**sections))


@pytest.mark.parametrize(
    "sections",
    [
        {"worker_groups": [worker(training_plan=plan("usw2-az4"))]},
        {"network": {"subnets": [SPARE]}, "worker_groups": [worker(), spare(training_plan=plan("usw2-az3"))]},
        {
            "network": {"existing": VPC},
            "worker_groups": [worker(subnet="subnet-0123456789abcdef1", training_plan=plan("usw2-az1"))],
        },
    ],
)
def test_zones_that_agree_or_that_only_aws_knows(sections: dict[str, Any]) -> None:
    assert told(**sections) == []


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"worker_groups": [worker(subnet="spare")]},
            "worker_groups[0].subnet: spare is not a name in network.subnets",
        ),
        (
            {"network": {"subnets": [SPARE]}, "login_groups": [{"subnet": "spair"}]},
            "login_groups[0].subnet: spair is not a name in network.subnets -> did you mean",
        ),
        (
            {"controller_group": {"subnet": "subnet-0123456789abcdef0"}},
            "controller_group.subnet: subnet-0123456789abcdef0 is not in the VPC",
        ),
        (
            {"worker_groups": [worker(security_group_ids=["sg-0123456789abcdef0"])]},
            "security_group_ids[0]: sg-0123456789abcdef0 is not in the VPC",
        ),
    ],
)
def test_groups_are_in_the_clusters_vpc(sections: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(**sections))


def test_subnets_and_security_groups_come_with_their_vpc() -> None:
    group = worker(subnet="subnet-0123456789abcdef1", security_group_ids=["sg-0123456789abcdef0"])
    assert told(network={"existing": VPC}, worker_groups=[group]) == []


def addresses(cidr: str, **group: Any) -> list[str]:
    return told(network={"private_subnet_cidr": cidr}, worker_groups=[worker(**group)])


def test_addresses_are_counted_by_type_with_room_to_replace_a_node() -> None:
    # 16 p5 nodes take 32 each and the controller one; one more node and 16 others are to find room
    (found,) = addresses("10.0.128.0/23", instance_type="ml.p5.48xlarge", num_instances=16)
    needed = "561 are needed: 513 for 17 nodes, 32 to replace one, 16 for file systems and endpoints"
    assert found == (
        f"network.private_subnet_cidr: 10.0.128.0/23 has 507 addresses, and {needed} -> use a /22 or larger"
    )
    assert addresses("10.0.128.0/23", instance_type="ml.p5.48xlarge", num_instances=14) == []


def test_another_subnet_is_counted_by_itself() -> None:
    subnet = {**SPARE, "cidr": "10.0.64.0/28"}
    groups = [worker(), worker(name="w2", num_instances=8, subnet="spare", **SMALL, partition="cpu")]
    groups[0]["partition"] = "train"
    assert told(network={"subnets": [subnet]}, worker_groups=groups) == []
    groups[1]["num_instances"] = 11
    assert (
        "has 11 addresses, and 12 are needed" in told(network={"subnets": [subnet]}, worker_groups=groups)[0]
    )


def test_a_count_that_is_a_guess_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = instance_types.InstanceType("ml.p4de.24xlarge")
    known = instance_types.get
    monkeypatch.setattr(instance_types, "get", lambda name: unknown if name == unknown.name else known(name))
    (found,) = addresses("10.0.128.0/26", num_instances=60)
    assert "61 for 61 nodes, 1 to replace one, 16 for file systems and endpoints" in found
    assert "(one for each ml.p4de.24xlarge, which is a guess)" in found


def test_more_nodes_than_any_subnet_has_room_for() -> None:
    groups = [worker(name=f"w{n}", instance_type="ml.p5.48xlarge", num_instances=1000) for n in range(3)]
    assert "spread the groups over network.subnets" in told(worker_groups=groups)[0]


def test_the_subnets_of_a_vpc_that_is_there_are_not_counted() -> None:
    assert told(network={"existing": VPC}, worker_groups=[worker(num_instances=6000)]) == []


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"slurm": {"mode": "api"}, "worker_groups": [worker(partition="ml.p5")]},
            "partition: ml.p5 is not a partition name that HyperPod's API accepts",
        ),
        (
            {"slurm": {"mode": "api"}, "worker_groups": [worker(partition="a_b")]},
            "letters, digits and hyphens between -> use a-b",
        ),
        ({"worker_groups": [worker(partition="default")]}, "default has a meaning of its own in slurm.conf"),
        ({"worker_groups": [worker(partition="All")]}, "All has a meaning of its own in slurm.conf"),
        ({"name": "a_b"}, "name: a_b is not a cluster name"),
        ({"name": "a" * 64}, "is not a cluster name"),
        ({"worker_groups": [worker(name="a_b")]}, "a_b is not a name HyperPod accepts"),
        ({"tags": {"a": "b?"}}, "has a tag AWS refuses: 'a'"),
    ],
)
def test_up_064_names(sections: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(**sections))


def test_partition_names_by_mode() -> None:
    assert told(worker_groups=[worker(partition="ml.p5.48xlarge")]) == []
    assert told(slurm={"mode": "api"}, worker_groups=[worker(partition="ml-p5")]) == []


@pytest.mark.parametrize(
    ("slurm", "message"),
    [
        (
            {"task_plugin": "task/cgroup"},
            "task_plugin: task/cgroup together with auto_resume: HyperPod resumes jobs under task/none only",
        ),
        (
            {"pam_slurm_adopt": True},
            "pam_slurm_adopt: true together with auto_resume: it needs PrologFlags=Contain",
        ),
        ({"partition_strategy": "Merge"}, "slurm.partition_strategy: Merge has no effect in scripts mode"),
    ],
)
def test_slurm_options_that_auto_resume_does_not_work_with(slurm: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(slurm=slurm))


def test_without_auto_resume_both_are_taken() -> None:
    slurm = {"auto_resume": False, "task_plugin": "task/affinity,task/cgroup", "pam_slurm_adopt": True}
    assert told(slurm=slurm) == []
    assert told(slurm={"mode": "api", "partition_strategy": "Merge"}) == []


def test_scripts_mode_knows_one_login_group() -> None:
    logins = [{"name": "a"}, {"name": "b"}]
    assert "login_groups: 2 login groups: provisioning_parameters.json" in told(login_groups=logins)[0]
    assert told(login_groups=logins, slurm={"mode": "api"}) == []
    assert told(login_groups=logins[:1]) == []


def test_several_controllers_come_later() -> None:
    (found,) = told(controller_group={"num_instances": 2})
    assert "this version makes exactly one; several controllers come later" in found


def test_an_external_accounting_database_needs_both() -> None:
    slurm = {"mode": "api", "accounting_database": DATABASE}
    assert told(slurm=slurm, node_provisioning="Continuous") == []
    assert "is for continuous provisioning only" in told(slurm=slurm)[0]
    found = "\n".join(told(slurm={"accounting_database": DATABASE}))
    assert "which scripts mode does not use" in found
    assert "is for continuous provisioning only" in found


def test_minimum_counts_are_for_continuous_provisioning() -> None:
    groups = [worker(min_instances=2)]
    assert "min_instances: 2 is for continuous provisioning only" in told(worker_groups=groups)[0]
    assert told(worker_groups=groups, node_provisioning="Continuous") == []
    found = told(worker_groups=[worker(min_instances=5)], node_provisioning="Continuous")
    assert "min_instances: 5 is more than num_instances, 4" in found[0]


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({**SMALL, "deep_health_checks": ["InstanceStress"]}, "test accelerators, and ml.m5.large has none"),
        ({"deep_health_checks": ["InstanceStress", "InstanceStress"]}, "name a check twice"),
        (
            {"capacity": "spot", "training_plan": plan("usw2-az4")},
            "capacity: spot together with a training plan",
        ),
        ({"image_id": "ami-0123456789abcdef0", "auto_patch": {}}, "together with auto_patch"),
        ({"scheduled_update": {"schedule": "cron(0 3 * * * *)"}}, "is not a schedule"),
        ({"scheduled_update": {"schedule": "rate(1 day)"}}, "is not a schedule"),
        (
            {
                "scheduled_update": {
                    "schedule": "cron(0 3 ? * SUN *)",
                    "rolling": {"max_nodes": 1, "max_percent": 1},
                }
            },
            "max_percent: 1 is given beside max_nodes",
        ),
        ({"scheduled_update": {"schedule": "cron(0 3 ? * SAT#1 *)"}}, "is not a schedule"),
        ({"scheduled_update": {"schedule": "cron(0 3 ? * ? *)"}}, "is not a schedule"),
        ({"scheduled_update": {"schedule": "cron(0 3 ? * SUN)"}}, "is not a schedule"),
    ],
)
def test_groups_that_contradict_themselves(group: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(worker_groups=[worker(**group)]))


@pytest.mark.parametrize(
    "group",
    [
        {"deep_health_checks": ["InstanceStress", "InstanceConnectivity"]},
        {"capacity": "spot"},
        {"training_plan": plan("usw2-az4")},
        {"image_id": "ami-0123456789abcdef0"},
        {"auto_patch": {"strategy": "WhenAllIdle"}},
        {"scheduled_update": {"schedule": "cron(0 3 ? * 7#1 *)", "rolling": {"max_nodes": 2}}},
    ],
    ids=str,
)
def test_groups_that_do_not(group: dict[str, Any]) -> None:
    assert told(worker_groups=[worker(**group)]) == []


def test_a_type_that_the_region_does_not_have() -> None:
    network = {"availability_zone_id": "eus2-az1"}
    (found,) = told(region="eu-south-2", network=network)
    assert found.startswith(
        "worker_groups[0].instance_type: ml.p4de.24xlarge is not a type that HyperPod lists"
    )
    assert "it is listed in ap-northeast-1, " in found


def test_of_a_region_that_no_list_has_nothing_is_claimed() -> None:
    unlisted = next(each for each in ("ap-east-2", "mx-central-1") if instance_types.in_region(each) is None)
    zone = {"ap-east-2": "ape2-az1", "mx-central-1": "mxc1-az1"}[unlisted]
    assert told(region=unlisted, network={"availability_zone_id": zone}) == []


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"encryption": {"kms_key": KEY.replace("us-west-2", "us-east-1")}},
            "key/1234abcd is in us-east-1, but the cluster is in us-west-2",
        ),
        (
            {"encryption": {"kms_key": KEY.replace("arn:aws:", "arn:aws-cn:")}},
            "is in the partition aws-cn, but us-west-2 is in aws",
        ),
        (
            {
                "region": "us-gov-west-1",
                "network": {"availability_zone_id": "usgw1-az1"},
                "identity": {"execution_role_arn": ROLE},
            },
            "is in the partition aws, but us-gov-west-1 is in aws-us-gov",
        ),
        (
            {
                "encryption": {"kms_key": KEY},
                "identity": {"execution_role_arn": ROLE.replace("1111", "9999")},
            },
            "is of account 999922223333, but encryption.kms_key is of 111122223333",
        ),
        (
            {
                "worker_groups": [
                    worker(training_plan=plan("usw2-az4", PLAN.replace("us-west-2", "us-west-1")))
                ]
            },
            "is in us-west-1, but the cluster is in us-west-2",
        ),
    ],
)
def test_up_063_one_region_one_account_one_partition(sections: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(**sections))


def test_arns_that_agree_and_those_of_aws_itself() -> None:
    identity = {"execution_role_arn": ROLE, "permissions_boundary": "arn:aws:iam::aws:policy/PowerUserAccess"}
    assert told(encryption={"kms_key": KEY}, identity=identity) == []


@pytest.mark.parametrize(
    ("sections", "path"),
    [
        ({"network": {"existing": VPC, "vpc_cidr": "10.0.0.0/16"}}, "network.vpc_cidr"),
        (
            {"network": {"existing": VPC, "private_subnet_cidr": "10.0.128.0/17"}},
            "network.private_subnet_cidr",
        ),
        ({"network": {"existing": VPC, "flow_logs": True}}, "network.flow_logs"),
        ({"network": {"existing": VPC, "no_internet": True}}, "network.no_internet"),
        (
            {"network": {"no_internet": True, "public_subnet_cidr": "10.0.0.0/24"}},
            "network.public_subnet_cidr",
        ),
        ({"storage": {"existing": "fs", "capacity_gib": 1200}}, "storage.capacity_gib"),
        ({"storage": {"existing": "fs", "data_repositories": [{}]}}, "storage.data_repositories"),
        ({"storage": {"existing": "fs", "deletion": "delete"}}, "storage.deletion"),
        ({"home": {"existing": "home", "throughput_mbps": 160}}, "home.throughput_mbps"),
        ({"encryption": {"deletion_wait_days": 7}}, "encryption.deletion_wait_days"),
        ({"encryption": {"kms_key": KEY, "deletion": "delete"}}, "encryption.deletion"),
        ({"observability": {"metrics_retention_days": 30}}, "observability.metrics_retention_days"),
        ({"observability": {"grafana_authentication": "SAML"}}, "observability.grafana_authentication"),
        ({"observability": {"deletion": "retain"}}, "observability.deletion"),
    ],
)
def test_what_would_have_no_effect_is_refused(sections: dict[str, Any], path: str) -> None:
    (found,) = told(**_filled(sections))
    assert found.startswith(f"{path}:")
    assert "has no effect" in found


def _filled(sections: dict[str, Any]) -> dict[str, Any]:
    """The parts that are there already, written out."""
    lustre = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "abcdef01"}
    for section in sections.values():
        if section.get("existing") == "fs":
            name = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
            section["existing"] = {**lustre, "dns_name": name}
        elif section.get("existing") == "home":
            name = "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com"
            section["existing"] = {"file_system_id": "fs-0123456789abcdef1", "dns_name": name}
    return sections


@pytest.mark.parametrize(
    "sections",
    [
        {"network": {"existing": VPC}},
        {"storage": {"existing": "fs", "mount_path": "/fsx", "lifecycle_bucket": "sagemaker-mine"}},
        {"home": {"existing": "home", "mount_path": "/home"}},
        {"network": {"no_internet": True}},
        {"observability": {"prometheus": "create", "deletion": "retain", "metrics_retention_days": 30}},
        {"encryption": {"kms_key": "create", "deletion_wait_days": 7}},
    ],
    ids=str,
)
def test_parts_that_are_there_already(sections: dict[str, Any]) -> None:
    assert told(**_filled(sections)) == []


def test_id_and_name_of_two_file_systems() -> None:
    sections = _filled({"storage": {"existing": "fs"}})
    sections["storage"]["existing"]["file_system_id"] = "fs-0fedcba9876543210"
    assert "is the name of another file system than fs-0fedcba9876543210" in told(**sections)[0]


def test_up_014_grafana_needs_a_way_to_log_in() -> None:
    (found,) = told(observability={"grafana": "create"})
    assert "observability.grafana: create needs a way for people to log in" in found
    assert "add grafana_authentication: AWS_SSO (with IAM Identity Center) or SAML, or use none" in found
    assert told(observability={"grafana": "create", "grafana_authentication": "AWS_SSO"}) == []


def test_scratch_file_systems_take_no_key() -> None:
    scratch = {"deployment_type": "SCRATCH_2"}
    assert (
        "FSx encrypts SCRATCH_2 with a key of its own"
        in told(encryption={"kms_key": KEY}, storage=scratch)[0]
    )
    assert told(storage=scratch) == []


def test_the_key_of_what_is_kept_is_kept() -> None:
    key = {"kms_key": "create", "deletion": "delete"}
    (found,) = told(encryption=key, home={})
    assert "delete takes the key of what storage.deletion, home.deletion, logs.deletion keep" in found
    gone = {"storage": {"deletion": "delete"}, "logs": {"deletion": "delete"}}
    assert told(encryption=key, **gone) == []
    assert told(encryption={"kms_key": "create"}, home={}) == []
    kept = {"observability": {"prometheus": "create", "deletion": "retain"}}
    assert "takes the key of what observability.deletion keeps" in told(encryption=key, **gone, **kept)[0]


def test_a_home_in_a_vpc_there_is_needs_its_addresses() -> None:
    assert "network.vpc_cidr: is missing: the created home" in told(network={"existing": VPC}, home={})[0]
    assert told(network={"existing": VPC, "vpc_cidr": "172.31.0.0/16"}, home={}) == []


def test_home_and_shared_file_system_are_apart() -> None:
    assert told(home={}) == []
    assert "home.mount_path: /fsx/home and storage.mount_path" in told(home={"mount_path": "/fsx/home"})[0]
    python = {"python": "/home/fsx/unbroken/env/bin/python3"}
    assert "lie in one another" in told(home={}, storage={"mount_path": "/home/fsx"}, training=python)[0]


def test_with_a_home_of_its_own_the_user_may_be_called_as_a_folder_of_the_shared_one() -> None:
    assert "is where the home of the user is" in told(user={"name": "data"})[0]
    assert told(user={"name": "data"}, home={}) == []


@pytest.mark.parametrize(
    ("home", "message"),
    [
        ({"throughput_mbps": 64}, "throughput_mbps: 64 is not a throughput of SINGLE_AZ_HA_2 -> use 160"),
        ({"throughput_mbps": 200}, "use 160 or 320"),
        ({"deployment_type": "SINGLE_AZ_1", "throughput_mbps": 160}, "use 128 or 256"),
        ({"capacity_gib": 63}, "is less than 64"),
        ({"mount_path": "/etc"}, "would hide a folder of the operating system"),
    ],
)
def test_homes_that_are_refused(home: dict[str, Any], message: str) -> None:
    assert message in told(home=home)[0]


def test_up_046_checkpoints_that_fill_the_file_system() -> None:
    """1200 GiB hold 14 of 81 GiB: one is being written, and one is what an attempt started from."""
    assert told(training={"keep_checkpoints": 12}) == []
    (found,) = told(training={"keep_checkpoints": 14})
    assert "14 makes 16 at once, which are more than 1200 GiB: 81 GiB each -> use at most 12, or a" in found
    (found,) = told(training={"keep_every": 100})
    assert "2 makes 54 at once" in found and "-> use a larger storage.capacity_gib" in found
    assert told(training={"keep_checkpoints": 14, "preset": "tiny"}) == []
    assert told(training={"keep_checkpoints": 14}, storage={"storage_type": "INTELLIGENT_TIERING"}) == []


def test_a_file_system_over_efa_needs_workers_with_efa() -> None:
    storage = {"efa": True, "capacity_gib": 38400, "throughput_mbps_per_tib": 125}
    assert told(storage=storage) == []
    assert "no worker type here has EFA" in told(storage=storage, worker_groups=[worker(**SMALL)])[0]


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            {"subnets": [{**SPARE, "cidr": "10.1.0.0/20"}]},
            "subnets[0].cidr: 10.1.0.0/20 is not inside the VPC's",
        ),
        (
            {"subnets": [{**SPARE, "cidr": "10.0.128.0/20"}]},
            "10.0.128.0/20 overlaps another subnet, 10.0.128.0/17",
        ),
        (
            {"subnets": [SPARE, {**SPARE, "name": "Spa-re", "cidr": "10.0.16.0/20"}]},
            "subnets[1].name: Spa-re names two subnets",
        ),
        ({"subnets": [{**SPARE, "name": "subnet-0123456789"}]}, "reads like the id of a subnet"),
        ({"subnets": [{**SPARE, "name": "a_b"}]}, "does not have the form"),
    ],
)
def test_subnets_that_are_refused(network: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(network=network))


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"emails": ["a@b.c", "a@b.c"]}, "emails: ['a@b.c', 'a@b.c'] has an entry twice"),
        ({"thresholds_percent": [50, 50]}, "thresholds_percent: [50, 50] has an entry twice"),
        ({"monthly_usd": 0}, "is not more than 0"),
        ({"emails": []}, "is an empty list"),
        ({"emails": ["nobody"]}, "is not an e-mail address"),
    ],
)
def test_budgets_that_are_refused(budget: dict[str, Any], message: str) -> None:
    good = {"monthly_usd": 1000, "emails": ["team@example.com"]}
    assert told(budget=good) == []
    assert message in "\n".join(told(budget={**good, **budget}))


def test_a_broken_section_hides_no_rule_between_others() -> None:
    found = told(
        network={"availability_zone_id": "euw1-az1"},
        user={"uid": "x"},
        login_groups=[{"name": "a"}, {"name": "b"}],
        encryption={"kms_key": KEY.replace("us-west-2", "us-east-1")},
        storage={"capacity_gib": 1},
    )
    assert [line.split(": ")[0] for line in found] == [
        "network.availability_zone_id",
        "user.uid",
        "login_groups",
        "encryption.kms_key",
        "storage.capacity_gib",
    ]


def test_more_groups_than_a_cluster_has() -> None:
    logins = [{"name": f"l{n}", **SMALL} for n in range(3)]
    workers = [worker(name=f"w{n}", **SMALL) for n in range(97)]
    found = told(slurm={"mode": "api"}, login_groups=logins, worker_groups=workers)
    assert "97 groups with the others make 101; HyperPod takes 100" in found[0]
