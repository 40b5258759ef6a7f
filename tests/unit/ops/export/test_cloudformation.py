"""The exported folder: whole or not at all, plain templates, a script that ends where a value is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.ops.export.conftest import CLUSTER
from unbroken import config
from unbroken.config.load import loads
from unbroken.ops.errors import CannotRun
from unbroken.ops.export.cloudformation import export
from unbroken.ops.export.folder import whole_folder
from unbroken.render import export as written
from unbroken.render.bundle import content_hash

AWS = """#!/usr/bin/env bash
# Stands for the AWS CLI: deployments succeed, and of the storage stack it says what it is told to.
printf '%s\\n' "$*" >>"$CALLS"
case "$1 $2" in
"cloudformation deploy" | "cloudformation update-termination-protection") ;;
"cloudformation describe-stacks") {answer} ;;
*)
    printf 'not expected: %s\\n' "$*" >&2
    exit 64
    ;;
esac
"""


def test_the_folder_holds_all_that_a_deployment_needs(exported: Path) -> None:
    assert {path.name for path in exported.iterdir()} == {
        "1-network.json", "2-storage.json", "3-identity.json", "4-cluster.json", "README.md", "deploy.sh",
        "export.json", "lifecycle", "training", "values",
    }  # fmt: skip
    assert os.access(exported / "deploy.sh", os.X_OK)
    assert {path.name for path in (exported / "values").iterdir()} == {
        "deployed.json",
        "provisioning_parameters.json",
    }
    assert "on_create.sh" in (exported / "lifecycle" / "SHA256SUMS").read_text()


def test_the_templates_ask_for_nothing_of_cdks(exported: Path) -> None:
    text = "".join(path.read_text() for path in exported.glob("*.json"))
    for word in ("cdk-hnb659fds", "BootstrapVersion", "Custom::", "AWS::Lambda::Function"):
        assert word not in text


def test_the_cluster_starts_from_the_prefix_that_the_script_fills(exported: Path) -> None:
    hashes = {
        f"lifecycle/{render_hash(exported / 'lifecycle')}/",
        f"training/{render_hash(exported / 'training')}/",
    }
    script, cluster = ((exported / name).read_text() for name in ("deploy.sh", "4-cluster.json"))
    assert all(prefix in script for prefix in hashes)
    assert next(prefix for prefix in hashes if prefix.startswith("lifecycle")) in cluster


def render_hash(folder: Path) -> str:
    return content_hash((folder / "SHA256SUMS").read_text())


@pytest.mark.parametrize(("tool", "options"), [("shellcheck", []), ("shfmt", ["-i", "4", "-d"])])
@pytest.mark.parametrize("mode", ["scripts", "api"])
def test_the_script_is_clean(tool: str, options: list[str], mode: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "deploy.sh").write_text(written.deploy_script(parts(mode)))
    done = subprocess.run(
        [tool, *options, "deploy.sh"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def parts(mode: str = "scripts", size: int = 0) -> written.Parts:
    text = f"{CLUSTER}slurm:\n  mode: {mode}\n"
    resources = {"R": {"Type": "AWS::X::Y", "DeletionPolicy": "Retain"}}
    template = {"Resources": resources, "Metadata": {"x": "y" * size}}
    stacks = [
        written.stack(area, f"exported-{area}", f"{n}-{area}.json", template)
        for n, area in enumerate(("network", "storage", "cluster"), 1)
    ]
    return written.Parts(loads(text, Path("cluster.yaml")), stacks, "0" * 16, "1" * 16)


def test_a_template_too_large_for_a_call_goes_through_the_bucket() -> None:
    small, large = written.deploy_script(parts()), written.deploy_script(parts(size=60_000))
    assert "--s3-bucket" not in small
    assert "deploy cluster 3-cluster.json --s3-bucket" in large


def test_the_page_says_what_stays_and_how_to_end_it() -> None:
    page = written.readme(parts())
    assert "- of `exported-storage`, because the cluster file keeps it: AWS::X::Y" in page
    assert (
        page.index("delete exported-cluster")
        < page.index("aws s3 rm")
        < page.index("delete exported-storage")
    )


ANSWERS = {
    "nothing": "printf 'None\\n'",
    "refusal": "printf 'An error occurred (ValidationError): Stack does not exist\\n' >&2; exit 255",
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_script_ends_at_the_first_value_that_is_missing(
    answer: str, exported: Path, tmp_path: Path
) -> None:
    calls, program = tmp_path / "calls", tmp_path / "aws"
    program.write_text(AWS.replace("{answer}", ANSWERS[answer]))
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls)}
    done = subprocess.run(
        ["bash", str(exported / "deploy.sh")], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("error: stack exported-storage in us-west-2 ")
    assert "LifecycleBucketName" in line
    assert "exported-cluster" not in calls.read_text()
    assert "s3" not in {call.split()[0] for call in calls.read_text().splitlines()}


def test_an_earlier_export_is_replaced(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with whole_folder(tmp_path / "out", "export.json") as folder:
            (folder / "export.json").write_text(text)
            (folder / text).touch()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"export.json", "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CannotRun, match="is there and is not an earlier export"), whole_folder(tmp_path, "m"):
        pytest.fail("it must not come this far")
    assert (tmp_path / "thesis.tex").exists()


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "out", "m") as folder:
        (folder / "half").write_text(str(1 / 0))
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_file_is_told_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("name: 7\n")
    with pytest.raises(config.ConfigError):
        export(str(tmp_path / "cluster.yaml"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tag_that_the_cli_cannot_pass_on_is_told(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("team:", '"te=am":'))
    with pytest.raises(CannotRun, match="equals sign"):
        export(str(tmp_path / "cluster.yaml"), tmp_path / "out")


def test_the_marker_says_what_it_is(exported: Path) -> None:
    assert json.loads((exported / "export.json").read_text()) == {
        "schema_version": 1,
        "kind": "cloudformation",
        "cluster": "exported",
        "region": "us-west-2",
        "stacks": [f"exported-{area}" for area in ("network", "storage", "identity", "cluster")],
    }
