"""The cache of layers: names, locking, and builds that fail or are killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from unbroken.rehearsal.nodes import cache, trial
from unbroken.rehearsal.nodes.cache import RootFsError


def test_the_directory_is_the_environments_or_the_systems() -> None:
    assert cache.directory({"UNBROKEN_CACHE": "/x"}) == Path("/x")
    assert cache.directory({"UNBROKEN_CACHE": ""}) == Path("/var/cache/unbroken")


def test_digest_tells_where_parts_end() -> None:
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
    assert cache.digest("ab", b"c") == cache.digest(b"ab", "c")


def test_tree_digest_sees_content_names_modes_and_links_and_no_bytecode(tmp_path: Path) -> None:
    seen = [cache.tree_digest(tmp_path)]
    (tmp_path / "a").write_text("1")
    seen.append(cache.tree_digest(tmp_path))
    (tmp_path / "a").chmod(0o755)
    seen.append(cache.tree_digest(tmp_path))
    (tmp_path / "b").symlink_to("a")
    seen.append(cache.tree_digest(tmp_path))
    assert len(set(seen)) == len(seen)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_text("1")
    assert cache.tree_digest(tmp_path) == seen[-1]


def test_a_layer_is_built_once(tmp_path: Path) -> None:
    built = []

    def build(into: Path) -> None:
        built.append(into)
        (into / "file").write_text("x")

    assert cache.layer(tmp_path, "one", build) == cache.layer(tmp_path, "one", build) == tmp_path / "one"
    assert len(built) == 1
    assert (tmp_path / "one" / "file").read_text() == "x"


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def build(into: Path) -> None:
        (into / "half").write_text("x")
        raise RootFsError("no")

    with pytest.raises(RootFsError):
        cache.layer(tmp_path, "one", build)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_build_left_goes_with_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".building-killed"
    left.mkdir()
    (left / "half").write_text("x")
    cache.layer(tmp_path, "one", lambda into: None)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_too_little_space_says_how_much_and_the_way_out(tmp_path: Path) -> None:
    cache.require_space(tmp_path, 1)
    with pytest.raises(RootFsError, match=r"(?s)MiB free.* needs 999999999 MiB.*hint: .*UNBROKEN_CACHE"):
        cache.require_space(tmp_path, 999999999)


def test_a_second_builder_waits_and_says_so(tmp_path: Path) -> None:
    script = (
        "import sys, fcntl; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print('held', flush=True); input()"
    )
    held = subprocess.Popen(
        ["python3", "-c", script, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert held.stdout is not None
    assert held.stdout.readline() == "held\n"
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        held.communicate("\n")

    with cache.locked(tmp_path, tell):
        assert said == ["another process is building the root file system; waiting for it"]


@pytest.mark.nodes
def test_a_cache_on_an_overlay_is_refused(tmp_path: Path, private_mounts: None) -> None:
    cache.require_layers(tmp_path)
    for name in ("low", "up", "work", "here"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={tmp_path}/low,upperdir={tmp_path}/up,workdir={tmp_path}/work"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", tmp_path / "here"], check=True)
    try:
        with pytest.raises(RootFsError, match=r"(?s)overlay file system.*hint: .*-v unbroken:"):
            cache.require_layers(tmp_path / "here")
    finally:
        subprocess.run(["umount", tmp_path / "here"], check=True)


def test_a_container_without_a_volume_is_a_reason_to_rehearse_reduced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(where: Path) -> None:
        raise RootFsError(f"{where} lies on an overlay\n\nhint: a volume")

    monkeypatch.setattr(cache, "require_layers", refuse)
    monkeypatch.setenv("UNBROKEN_CACHE", str(tmp_path))
    assert trial.problem() == f"{tmp_path} lies on an overlay"
