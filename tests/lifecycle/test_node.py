"""Finding the own role: every malformed or contradictory file is an error that names file and key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LOGIN, WORKER

RESOURCE_CONFIG = "opt/ml/config/resource_config.json"
PARAMETERS = "opt/ml/config/provisioning_parameters.json"
Edit = Callable[[dict[str, Any]], object]


def edit(path: Path, change: Edit) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def refused(lab: Lab) -> str:
    """Run, and return the error of the last line, which must be that of the first step."""
    assert lab.run() == 2, lab.text
    assert (lab.last()["step"], lab.last()["result"], lab.last()["exit_code"]) == ("10-role", "failed", 2)
    return str(lab.last()["error"])


@pytest.mark.parametrize(
    ("address", "role"), [(CONTROLLER, "controller"), (WORKER, "compute"), (LOGIN, "login")]
)
def test_the_role_is_that_of_the_group_that_lists_the_own_address(
    make_lab: MakeLab, address: str, role: str
) -> None:
    node = make_lab(address).node()
    assert (node.role, node.address, node.controllers) == (role, address, (CONTROLLER,))


def test_the_file_may_be_named_by_the_service(
    make_lab: MakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make_lab()
    (lab.root / RESOURCE_CONFIG).rename(tmp_path / "elsewhere.json")
    monkeypatch.setenv("SAGEMAKER_RESOURCE_CONFIG_PATH", str(tmp_path / "elsewhere.json"))
    assert lab.node().role == "controller"


BAD_RESOURCE_CONFIGS: dict[str, tuple[Edit, str]] = {
    "no groups": (
        lambda d: d.pop("InstanceGroups"),
        "resource_config.json: InstanceGroups: found nothing, expected a list",
    ),
    "groups as an object": (
        lambda d: d.update(InstanceGroups={}),
        "resource_config.json: InstanceGroups: found {}, expected a list",
    ),
    "group without a name": (
        lambda d: d["InstanceGroups"][1].pop("Name"),
        "resource_config.json: InstanceGroups[1].Name: found nothing, expected text that is not empty",
    ),
    "the API's key in place of the file's": (
        lambda d: d["InstanceGroups"][0].update(InstanceGroupName=d["InstanceGroups"][0].pop("Name")),
        "resource_config.json: InstanceGroups[0].Name: found nothing",
    ),
    "instances as text": (
        lambda d: d["InstanceGroups"][2].update(Instances="none"),
        'resource_config.json: InstanceGroups[2].Instances: found "none", expected a list',
    ),
    "instance that is no object": (
        lambda d: d["InstanceGroups"][2].update(Instances=[7]),
        "resource_config.json: InstanceGroups[2].Instances[0]: found 7, expected an object",
    ),
    "instance without an address": (
        lambda d: d["InstanceGroups"][2]["Instances"][0].pop("CustomerIpAddress"),
        "InstanceGroups[2].Instances[0].CustomerIpAddress: found nothing, expected text that is not empty",
    ),
    "address that is none": (
        lambda d: d["InstanceGroups"][2]["Instances"][0].update(CustomerIpAddress="10.0.128"),
        'InstanceGroups[2].Instances[0].CustomerIpAddress: found "10.0.128", expected an IP address',
    ),
    "instance without a name": (
        lambda d: d["InstanceGroups"][2]["Instances"][0].update(InstanceName=""),
        'InstanceGroups[2].Instances[0].InstanceName: found "", expected text that is not empty',
    ),
    "one address twice": (
        lambda d: d["InstanceGroups"][2]["Instances"][0].update(CustomerIpAddress=CONTROLLER),
        f"found {CONTROLLER} at both controller-machine-1 and worker-group-1-1, expected one instance",
    ),
}


@pytest.mark.parametrize("name", sorted(BAD_RESOURCE_CONFIGS))
def test_a_malformed_resource_config_is_an_explicit_error(make_lab: MakeLab, name: str) -> None:
    lab = make_lab()
    change, expected = BAD_RESOURCE_CONFIGS[name]
    edit(lab.root / RESOURCE_CONFIG, change)
    assert expected in refused(lab)
    assert lab.host.clock < 1010, "a malformed file is not waited for as if it were late"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"'])
def test_text_that_is_not_a_json_object_is_an_explicit_error(make_lab: MakeLab, text: str) -> None:
    lab = make_lab()
    (lab.root / RESOURCE_CONFIG).write_text(text)
    error = refused(lab)
    assert error.startswith("resource_config.json: found ")
    assert error.endswith(("expected a JSON object", "expected an object"))


@pytest.mark.parametrize("instances", [None, []])
def test_null_or_empty_instances_are_a_group_scaled_to_zero(make_lab: MakeLab, instances: object) -> None:
    lab = make_lab()
    edit(lab.root / RESOURCE_CONFIG, lambda d: d["InstanceGroups"][2].update(Instances=instances))
    assert lab.node().role == "controller"


def test_absent_instances_are_a_group_scaled_to_zero(make_lab: MakeLab) -> None:
    lab = make_lab()
    edit(lab.root / RESOURCE_CONFIG, lambda d: d["InstanceGroups"][2].pop("Instances"))
    assert lab.node().role == "controller"


def test_a_late_file_is_waited_for(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    path = lab.root / RESOURCE_CONFIG
    text, slept = path.read_text(), []
    path.unlink()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        lab.host.clock += seconds
        if len(slept) == 5:
            path.write_text('{"InstanceGroups": [{"Name": "worker-gro')  # half-written
        if len(slept) == 7:
            path.write_text(text)

    lab.host.sleep = sleep  # type: ignore[method-assign]  # a fake in its place
    assert lab.node().role == "compute"
    assert len(slept) == 7


def test_a_node_that_is_never_listed_fails_by_a_deadline_that_says_what_was_found(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    edit(lab.root / RESOURCE_CONFIG, lambda d: d["InstanceGroups"][2].update(Instances=None))
    assert lab.run() == 1
    error = lab.last()["error"]
    assert error.startswith("waited 300 s for resource_config.json to list this node: none of this node's")
    assert WORKER in error and CONTROLLER in error


def test_a_controller_that_is_never_listed_is_named(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    edit(lab.root / RESOURCE_CONFIG, lambda d: d["InstanceGroups"][0].update(Instances=[]))
    assert lab.run() == 1
    assert "the controller group controller-machine has no instance" in lab.last()["error"]


def test_a_group_that_node_json_does_not_name_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    edit(lab.root / RESOURCE_CONFIG, lambda d: d["InstanceGroups"][2].update(Name="others"))
    assert refused(lab) == (
        "resource_config.json: InstanceGroups: found worker-group-1-1 in group others, expected one of the "
        "groups in node.json (controller-machine, login-group, worker-group-1)"
    )


BAD_PARAMETERS: dict[str, tuple[Edit, str]] = {
    "another scheduler": (lambda d: d.update(workload_manager="pbs"), 'workload_manager: found "pbs"'),
    "no scheduler": (lambda d: d.pop("workload_manager"), "workload_manager: found nothing"),
    "another controller": (
        lambda d: d.update(controller_group="head"),
        'controller_group: found "head", expected "controller-machine", as in node.json',
    ),
    "no login group": (lambda d: d.pop("login_group"), 'login_group: found nothing, expected "login-group"'),
    "worker groups as text": (
        lambda d: d.update(worker_groups="x"),
        'worker_groups: found "x", expected a list',
    ),
    "worker group without a name": (
        lambda d: d["worker_groups"][0].pop("instance_group_name"),
        "worker_groups[0].instance_group_name: found nothing",
    ),
    "another worker group": (
        lambda d: d["worker_groups"][0].update(instance_group_name="others"),
        "expected worker-group-1, as in node.json",
    ),
}


@pytest.mark.parametrize("name", sorted(BAD_PARAMETERS))
def test_a_malformed_or_contradictory_provisioning_parameters_is_refused(
    make_lab: MakeLab, name: str
) -> None:
    lab = make_lab()
    change, expected = BAD_PARAMETERS[name]
    edit(lab.root / PARAMETERS, change)
    error = refused(lab)
    assert error.startswith("provisioning_parameters.json: ") and expected in error


def test_provisioning_parameters_must_be_there_in_scripts_mode_only(make_lab: MakeLab) -> None:
    lab = make_lab()
    (lab.root / PARAMETERS).unlink()
    assert refused(lab) == "provisioning_parameters.json: found no such file, expected a JSON object"
    edit(lab.bundle / "node.json", lambda d: d["slurm"].update(mode="api"))
    assert lab.node().role == "controller"


BAD_NODE_JSON: dict[str, tuple[Edit, str]] = {
    "later version": (lambda d: d.update(schema_version=2), "schema_version: found 2, expected 1"),
    "no version": (lambda d: d.pop("schema_version"), "schema_version: found nothing"),
    "version as text": (
        lambda d: d.update(schema_version="1"),
        'schema_version: found "1", expected a whole',
    ),
    "version true": (lambda d: d.update(schema_version=True), "schema_version: found true"),
    "no cluster": (lambda d: d.pop("cluster"), "cluster: found nothing, expected an object"),
    "unknown mode": (lambda d: d["slurm"].update(mode="x"), 'slurm.mode: found "x", expected scripts or api'),
    "no controller": (lambda d: d["slurm"].pop("controller_group"), "slurm.controller_group: found nothing"),
    "login groups 3": (lambda d: d["slurm"].update(login_groups=3), "slurm.login_groups: found 3"),
    "login groups null": (lambda d: d["slurm"].update(login_groups=[None]), "expected a list of text"),
    "EFA as text": (
        lambda d: d["storage"].update(efa="no"),
        'storage.efa: found "no", expected true or false',
    ),
    "home as text": (lambda d: d.update(home="/home"), 'home: found "/home", expected an object'),
    "work elsewhere": (lambda d: d["user"].update(work="/x/y"), "user.work: found"),
    "relative mount": (lambda d: d["storage"].update(mount_path="fsx"), "storage.mount_path: found"),
    "mount with dots": (lambda d: d["storage"].update(mount_path="/a/../b"), "expected an absolute path"),
    "home elsewhere": (
        lambda d: d["user"].update(home="/home/ubuntu"),
        'user.home: found "/home/ubuntu", expected a path below /fsx',
    ),
    "training elsewhere": (lambda d: d["training"].update(root="/opt"), "training.root: found"),
    "uid as text": (
        lambda d: d["user"].update(uid="1000"),
        'user.uid: found "1000", expected a whole number',
    ),
}


@pytest.mark.parametrize("name", sorted(BAD_NODE_JSON))
def test_a_malformed_node_json_is_refused(make_lab: MakeLab, name: str) -> None:
    lab = make_lab()
    change, expected = BAD_NODE_JSON[name]
    edit(lab.bundle / "node.json", change)
    error = refused(lab)
    assert error.startswith("node.json: ") and expected in error


BAD_DEPLOYED: dict[str, tuple[Edit, str]] = {
    "no name": (lambda d: d.pop("fsx_dns_name"), "fsx_dns_name: found nothing"),
    "empty mount name": (lambda d: d.update(fsx_mount_name=""), 'fsx_mount_name: found "", expected text'),
    "later version": (lambda d: d.update(schema_version=9), "schema_version: found 9, expected 1"),
    "unresolved token": (
        lambda d: d.update(training_uri="s3://${Token[TOKEN.12]}/training/"),
        "expected s3://<bucket>/training/<hash>/",
    ),
}


@pytest.mark.parametrize("name", sorted(BAD_DEPLOYED))
def test_a_malformed_deployed_json_is_refused(make_lab: MakeLab, name: str) -> None:
    lab = make_lab()
    change, expected = BAD_DEPLOYED[name]
    edit(lab.bundle / "deployed.json", change)
    error = refused(lab)
    assert error.startswith("deployed.json: ") and expected in error


@pytest.mark.parametrize("name", ["node.json", "deployed.json"])
def test_a_missing_file_of_the_bundle_is_named(make_lab: MakeLab, name: str) -> None:
    lab = make_lab()
    (lab.bundle / name).unlink()
    assert refused(lab) == f"{name}: found no such file, expected a JSON object"
