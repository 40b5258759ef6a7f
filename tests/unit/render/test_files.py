"""node.json, deployed.json, provisioning_parameters.json and the job, from the cluster file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.render.schema import problems
from unbroken import render
from unbroken.config import ClusterConfig

SCHEMA = Path(render.__file__).parent / "node.schema.json"
WORKERS = [
    {
        "name": "worker-group-1",
        "instance_type": "ml.p4de.24xlarge",
        "num_instances": 4,
        "partition": "train",
    },
    {"name": "small", "instance_type": "ml.g5.12xlarge", "num_instances": 2, "partition": "debug"},
]


def cluster(**values: object) -> ClusterConfig:
    return ClusterConfig.model_validate({"name": "ml-cluster", "worker_groups": WORKERS} | values)


def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text())
    return loaded


EURO: dict[str, object] = {"region": "eu-central-1", "network": {"availability_zone_id": "euc1-az1"}}
LOGIN: dict[str, object] = {"login_groups": [{"name": "login-group"}]}
OTHER: dict[str, object] = {
    "storage": {"mount_path": "/shared"},
    "user": {"name": "researcher", "uid": 2001},
    "training": {"python": "/shared/unbroken/env/bin/python3"},
    "region": "eu-central-1",
    "network": {"availability_zone_id": "euc1-az1"},
}


@pytest.mark.parametrize("values", [{}, LOGIN, OTHER], ids=["default", "login", "other"])
def test_node_json_keeps_to_its_schema(values: dict[str, object]) -> None:
    assert problems(json.loads(render.node_json(cluster(**values))), schema()) == []


def test_the_schema_and_the_document_have_the_same_keys() -> None:
    """The schema closes every object, so a key added to one side alone is found here."""

    def keys(part: dict[str, Any]) -> dict[str, Any]:
        return {name: keys(inner) for name, inner in part.get("properties", {}).items()}

    def shape(value: object) -> dict[str, Any]:
        return {name: shape(inner) for name, inner in value.items()} if isinstance(value, dict) else {}

    assert shape(render.node_document(cluster(home={}))) == keys(schema())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("extra",), 1),
        (("slurm", "mode"), "x"),
        (("user", "uid"), "1000"),
        (("schema_version",), 2),
        (("storage", "mount_path"), "fsx"),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: tuple[str, ...], value: object) -> None:
    document = render.node_document(cluster())
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    assert problems(document, schema())


def test_everything_on_the_shared_file_system_follows_its_mount_path() -> None:
    document = render.node_document(cluster(**OTHER))
    home = "/shared/researcher"
    assert document["user"] == {"name": "researcher", "uid": 2001, "home": home, "work": home}
    assert document["training"] == {"root": "/shared/unbroken", "environment": True}


def test_a_home_of_its_own_leaves_the_users_work_on_the_shared_file_system() -> None:
    document = render.node_document(cluster(home={"mount_path": "/homes"}, **OTHER))
    assert document["home"] == {"mount_path": "/homes"}
    assert document["user"]["home"] == "/homes/researcher"
    assert document["user"]["work"] == "/shared/researcher"


def test_the_order_of_groups_in_the_file_changes_no_bundle() -> None:
    document = render.node_document(cluster())
    turned = ClusterConfig.model_validate({"name": "ml-cluster", "worker_groups": WORKERS[::-1]})
    assert render.node_document(turned) == document
    names = [group["name"] for group in document["slurm"]["worker_groups"]]
    assert names == sorted(names)


def test_provisioning_parameters_have_one_key_a_line() -> None:
    text = render.provisioning_parameters(cluster(**LOGIN), "fs-1.fsx.us-west-2.amazonaws.com", "abcd")
    assert all(line.count('":') <= 1 for line in text.splitlines())
    assert json.loads(text) == {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "controller-machine",
        "login_group": "login-group",
        "worker_groups": [
            {"instance_group_name": "small", "partition_name": "debug"},
            {"instance_group_name": "worker-group-1", "partition_name": "train"},
        ],
        "fsx_dns_name": "fs-1.fsx.us-west-2.amazonaws.com",
        "fsx_mountname": "abcd",
    }


def test_without_a_login_group_there_is_no_such_key() -> None:
    assert "login_group" not in json.loads(render.provisioning_parameters(cluster(), "a", "b"))


def test_a_file_system_for_homes_is_named_where_the_field_looks_for_it() -> None:
    text = render.provisioning_parameters(cluster(home={}), "a", "b", "fs-2.fsx.us-west-2.amazonaws.com")
    assert json.loads(text)["fsx_openzfs_dns_name"] == "fs-2.fsx.us-west-2.amazonaws.com"
    assert "fsx_openzfs_dns_name" not in json.loads(render.provisioning_parameters(cluster(), "a", "b"))


def test_what_a_cluster_does_without_is_null() -> None:
    text = render.deployed(
        cluster(),
        fsx_dns_name="a",
        fsx_mount_name="b",
        lifecycle_bucket="c",
        data_bucket=None,
        training_uri="s3://c/training/0/",
    )
    nothing = {name for name, value in json.loads(text).items() if value is None}
    assert nothing == {
        "home_dns_name",
        "data_bucket",
        "prometheus_remote_write_url",
        "accounting_secret_arn",
    }


def test_metrics_go_to_a_workspace_that_is_there() -> None:
    workspace = "ws-01234567-89ab-cdef-0123-456789abcdef"
    named = cluster(observability={"prometheus": workspace}, **EURO)
    places = {"fsx_dns_name": "a", "fsx_mount_name": "b", "lifecycle_bucket": "c", "data_bucket": "d"}
    text = render.deployed(named, **places, training_uri="s3://c/training/0/")
    host = "https://aps-workspaces.eu-central-1.amazonaws.com"
    assert (
        json.loads(text)["prometheus_remote_write_url"]
        == f"{host}/workspaces/{workspace}/api/v1/remote_write"
    )


DEPLOYED = json.loads((SCHEMA.parent / "deployed.schema.json").read_text())
PLACES = {
    "fsx_dns_name": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
    "fsx_mount_name": "abcdef01",
    "lifecycle_bucket": "sagemaker-a",
    "training_uri": "s3://sagemaker-a/training/0123456789abcdef/",
}


@pytest.mark.parametrize("more", [{"data_bucket": None}, {"data_bucket": "b", "home_dns_name": "fs-1.fsx"}])
def test_deployed_json_keeps_to_its_schema(more: dict[str, Any]) -> None:
    told = json.loads(render.deployed(cluster(), **PLACES, **more))
    assert problems(told, DEPLOYED) == []
    assert set(told) == set(DEPLOYED["properties"]) == set(DEPLOYED["required"])


@pytest.mark.parametrize("wrong", [{"fsx_dns_name": None}, {"training_uri": "s3://a/x/"}, {"extra": 1}])
def test_its_schema_refuses_what_is_wrong(wrong: dict[str, Any]) -> None:
    told = json.loads(render.deployed(cluster(), **PLACES, data_bucket=None))
    assert problems(told | wrong, DEPLOYED)


def test_tokens_pass_through_unchanged() -> None:
    opaque = "${Token[TOKEN.42]}"
    text = render.deployed(
        cluster(),
        fsx_dns_name=opaque,
        fsx_mount_name=opaque,
        lifecycle_bucket=opaque,
        data_bucket=opaque,
        training_uri=f"s3://{opaque}/training/0123/",
    )
    assert text.count(opaque) == 5
    assert set(json.loads(text)) == {
        "schema_version",
        "fsx_dns_name",
        "fsx_mount_name",
        "home_dns_name",
        "lifecycle_bucket",
        "data_bucket",
        "training_uri",
        "prometheus_remote_write_url",
        "accounting_secret_arn",
    }
    assert render.provisioning_parameters(cluster(), opaque, opaque).count(opaque) == 2


def test_a_job_without_auto_resume_says_so_to_the_launcher() -> None:
    assert "--no-auto-resume" not in render.job(cluster(), None)["job.sbatch"]
    plain = render.job(cluster(slurm={"auto_resume": False}), None)["job.sbatch"]
    assert plain.endswith('  --config job.yaml --ranks-per-node 8 --no-auto-resume "$@"\n')


def test_a_job_in_a_container_says_so_to_the_launcher() -> None:
    training = {"container_image": "/fsx/a.sqsh", "container_mounts": ["/a:/b"], "efa_fallback": "stop"}
    script = render.job(cluster(training=training), None)["job.sbatch"]
    assert script.endswith(
        "--ranks-per-node 8 --container-image='/fsx/a.sqsh' --container-python='python3' "
        "--container-mount='/a:/b' --stop-on-sockets \"$@\"\n"
    )


def test_the_token_is_named_by_its_file() -> None:
    script = render.job(cluster(training={"hub_token_file": "/fsx/ubuntu/.token"}), None)["job.sbatch"]
    assert "export HF_TOKEN_PATH='/fsx/ubuntu/.token'\n" in script


def test_the_jobs_header_follows_the_first_worker_group() -> None:
    script = render.job(cluster(), None)["job.sbatch"]
    assert script.startswith("#!/usr/bin/env bash\n")
    for line in ("--job-name=mathstral-7b", "--partition=train", "--nodes=4"):
        assert f"#SBATCH {line}\n" in script
    assert "--ranks-per-node 8" in script
    assert "cd '/fsx/ubuntu/jobs/mathstral-7b'" in script


@pytest.mark.parametrize(
    ("instance_type", "present", "absent"),
    [
        (
            "ml.p4de.24xlarge",
            ["FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS"],
            [],
        ),
        ("ml.g5.12xlarge", ["NCCL_DEBUG"], ["FI_EFA_USE_DEVICE_RDMA"]),
        ("ml.c5.4xlarge", [], ["FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "NCCL_DEBUG"]),
    ],
)
def test_the_jobs_environment_follows_the_instance_type(
    instance_type: str, present: list[str], absent: list[str]
) -> None:
    group = {"name": "w", "instance_type": instance_type, "num_instances": 2}
    script = render.job(cluster(worker_groups=[group]), None)["job.sbatch"]
    assert [name for name in present if f"export {name}=" not in script] == []
    assert [name for name in absent if name in script] == []


def test_job_yaml_is_what_the_trainer_accepts() -> None:
    from training.config import parse

    values = yaml.safe_load(render.job(cluster(), None)["job.yaml"])
    config = parse(values)
    assert (config.num_steps, config.preset, config.learning_rate) == (5000, "mathstral-7b", 1e-4)
    assert not {"python", "gpus_per_node"} & set(values), "those are the launcher's"


OVERLAY = render.Overlay(
    gpus_per_node=1, preset="tiny", device="cpu", num_steps=40, python="/opt/python3", context_length=64
)


def test_an_overlay_changes_what_it_lists_and_nothing_else() -> None:
    plain, changed = render.job(cluster(), None), render.job(cluster(), OVERLAY)
    before, after = yaml.safe_load(plain["job.yaml"]), yaml.safe_load(changed["job.yaml"])
    assert {k: v for k, v in after.items() if before[k] != v} == {
        "preset": "tiny",
        "device": "cpu",
        "num_steps": 40,
        "context_length": 64,
    }
    lines = zip(plain["job.sbatch"].splitlines(), changed["job.sbatch"].splitlines(), strict=True)
    assert [new for old, new in lines if old != new] == [
        "bin=$(readlink -e '/opt') && [[ -x \"$bin/python3\" ]] || {",
        "  echo 'job.sbatch: /opt/python3 is not there; see docs/reference/job.md, \"The environment\"' >&2",
        '  --config job.yaml --ranks-per-node 1 "$@"',
    ]


def test_an_overlay_tells_its_changes() -> None:
    assert OVERLAY.changes(cluster()) == [
        ("gpus_per_node", 8, 1),
        ("python", "/fsx/unbroken/env/bin/python3", "/opt/python3"),
        ("device", "auto", "cpu"),
        ("preset", "mathstral-7b", "tiny"),
        ("num_steps", 5000, 40),
        ("context_length", 32768, 64),
    ]


def test_what_an_overlay_repeats_is_no_change() -> None:
    assert render.Overlay(num_steps=5000).changes(cluster()) == []


def test_what_belongs_to_another_model_or_to_the_internet_is_left_out_and_told() -> None:
    settings = {
        "weights_revision": "abc",
        "rope_theta": 1e6,
        "dataset_config": "en",
        "resume_from": "/fsx/x",
        "container_image": "x",
        "mlflow_tracking_uri": "sqlite:///x",
        "sharding": "hybrid",
    }
    declared = cluster(training=settings)
    overlay = render.Overlay(preset="tiny", weights="scratch", dataset="shipped", tokenizer="bytes")
    assert not set(settings) - {"sharding"} & set(yaml.safe_load(render.job(declared, overlay)["job.yaml"]))
    changed = {name for name, _before, _after in overlay.changes(declared)}
    assert changed == {*settings, "preset", "weights", "dataset", "tokenizer"}


def test_every_setting_of_an_overlay_is_one_of_the_job() -> None:
    values: dict[str, Any] = {name: "x" for name in render.Overlay.__dataclass_fields__}
    assert len(render.Overlay(**values).changes(cluster())) == len(values)
