"""Bundles: the same hash whatever the checkout's modes, times and caches; nothing that S3 cannot keep."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from unbroken import render
from unbroken.config import ClusterConfig

CLUSTER = {
    "name": "ml-cluster",
    "worker_groups": [{"name": "worker-group-1", "instance_type": "ml.p4de.24xlarge", "num_instances": 4}],
}


@pytest.fixture(scope="module")
def config() -> ClusterConfig:
    return ClusterConfig.model_validate(CLUSTER)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folders that are rendered, which a test may spoil."""
    import unbroken.render.bundle  # noqa: F401  (the function of that name hides the module)

    module = __import__("sys").modules["unbroken.render.bundle"]
    copy = tmp_path / "checkout"
    for name in ("lifecycle_assets", "training"):
        shutil.copytree(module._CHECKOUT / name, copy / name)
    monkeypatch.setattr(module, "_CHECKOUT", copy)
    yield copy


def content(bundle: render.Bundle) -> dict[str, bytes]:
    return {
        p.relative_to(bundle.path).as_posix(): p.read_bytes() for p in bundle.path.rglob("*") if p.is_file()
    }


def test_a_bundle_lists_and_proves_every_file_in_it(config: ClusterConfig, tmp_path: Path) -> None:
    for made in (render.bundle(config, tmp_path / "a"), render.training_bundle(config, tmp_path / "b")):
        done = subprocess.run(
            ["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=made.path, check=False
        )
        assert done.returncode == 0
        listed = {line.split("  ")[1] for line in (made.path / "SHA256SUMS").read_text().splitlines()}
        assert listed == set(content(made)) - {"SHA256SUMS"}
        sums = (made.path / "SHA256SUMS").read_bytes()
        assert made.content_hash == hashlib.sha256(sums).hexdigest()[:16]


def test_what_is_in_it(config: ClusterConfig, tmp_path: Path) -> None:
    node = set(content(render.bundle(config, tmp_path / "a")))
    assert {"on_create.sh", "__main__.py", "node.json", "unbroken_node/main.py"} <= node
    assert not {"deployed.json", "provisioning_parameters.json"} & node, "only a deployment knows those"
    training = set(content(render.training_bundle(config, tmp_path / "b")))
    assert {"job.sbatch", "job.yaml", "training/pretrain.py", "training/__init__.py"} <= training


def test_modes_times_umask_and_caches_do_not_matter(
    config: ClusterConfig, tmp_path: Path, checkout: Path
) -> None:
    first = render.bundle(config, tmp_path / "a")
    cache = checkout / "lifecycle_assets/unbroken_node/__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "main.cpython-310.pyc").write_bytes(b"\0")
    (checkout / "lifecycle_assets/.hidden").write_text("x")
    (checkout / "lifecycle_assets/on_create.sh~").write_text("x")
    for path in checkout.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    old = os.umask(0o077)
    try:
        second = render.bundle(config, tmp_path / "b")
    finally:
        os.umask(old)
    assert second.content_hash == first.content_hash
    assert content(second) == content(first)
    modes = {p.is_dir(): p.stat().st_mode & 0o777 for p in second.path.rglob("*")}
    assert modes == {True: 0o755, False: 0o644}


def test_one_changed_byte_changes_the_hash(config: ClusterConfig, tmp_path: Path, checkout: Path) -> None:
    first = render.bundle(config, tmp_path / "a")
    main = checkout / "lifecycle_assets/unbroken_node/main.py"
    main.write_text(main.read_text() + "\n")
    assert render.bundle(config, tmp_path / "b").content_hash != first.content_hash


def test_a_changed_trainer_changes_no_node(config: ClusterConfig, tmp_path: Path, checkout: Path) -> None:
    nodes, trainer = render.bundle(config, tmp_path / "a"), render.training_bundle(config, tmp_path / "b")
    (checkout / "training/new.py").write_text("")
    assert render.bundle(config, tmp_path / "c").content_hash == nodes.content_hash
    assert render.training_bundle(config, tmp_path / "d").content_hash != trainer.content_hash


def test_another_cluster_is_another_bundle(config: ClusterConfig, tmp_path: Path) -> None:
    other = config.model_copy(update={"name": "other"})
    first, second = render.bundle(config, tmp_path / "a"), render.bundle(other, tmp_path / "b")
    assert first.content_hash != second.content_hash


def test_it_replaces_an_earlier_bundle(config: ClusterConfig, tmp_path: Path) -> None:
    made = render.bundle(config, tmp_path / "a")
    (made.path / "stale").write_text("")
    assert render.bundle(config, tmp_path / "a").content_hash == made.content_hash
    assert not (made.path / "stale").exists()


def test_it_never_replaces_anything_else(config: ClusterConfig, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(render.RenderError, match="exists and is not a bundle"):
        render.bundle(config, tmp_path)
    assert (tmp_path / "mine").read_text() == "precious"


def test_windows_line_ends_are_refused_with_the_files_name(
    config: ClusterConfig, tmp_path: Path, checkout: Path
) -> None:
    script = checkout / "lifecycle_assets/on_create.sh"
    script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(render.RenderError, match=r"on_create\.sh has Windows line ends"):
        render.bundle(config, tmp_path / "a")


def test_a_link_is_refused_since_s3_keeps_none(config: ClusterConfig, tmp_path: Path, checkout: Path) -> None:
    (checkout / "lifecycle_assets/link.sh").symlink_to("on_create.sh")
    with pytest.raises(render.RenderError, match=r"link\.sh is a link, and S3 keeps no links"):
        render.bundle(config, tmp_path / "a")


def test_outside_a_checkout_it_says_so(config: ClusterConfig, tmp_path: Path, checkout: Path) -> None:
    shutil.rmtree(checkout / "lifecycle_assets")
    with pytest.raises(render.RenderError, match="is not a folder\n\nhint: run this from a checkout"):
        render.bundle(config, tmp_path / "a")
