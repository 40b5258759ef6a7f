"""The root file system's layers: their names, the mirror rule, and each way a build cannot start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unbroken.rehearsal.nodes import debian, image, rootfs, wheels
from unbroken.rehearsal.nodes.cache import RootFsError

ONE_LINE = "deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\n"
DEB822 = (
    "Types: deb\n# a comment\nURIs: http://other.example/debian\n"
    "Suites: bookworm bookworm-updates\nComponents: main\n"
)
SECURITY_ONLY = (
    "Types: deb\nURIs: http://security.example/debian\nSuites: bookworm-security\nComponents: main\n"
)
UBUNTU = "deb http://archive.example/ubuntu jammy main\n"


def host(root: Path, listed: str = "", **files: str) -> Path:
    """A host with these apt sources."""
    (root / "etc/apt/sources.list.d").mkdir(parents=True)
    (root / "etc/apt/sources.list").write_text(listed)
    for name, text in files.items():
        (root / "etc/apt/sources.list.d" / f"{name}.sources").write_text(text)
    return root


def test_the_mirror_is_the_environments_first(tmp_path: Path) -> None:
    chosen = debian.mirror({"UNBROKEN_DEBIAN_MIRROR": "http://mine.example"}, host(tmp_path, ONE_LINE))
    assert chosen == "http://mine.example"


@pytest.mark.parametrize(
    ("listed", "files", "expected"),
    [
        (ONE_LINE, {}, "http://mirror.example/debian"),
        ("# " + ONE_LINE, {"debian": DEB822}, "http://other.example/debian"),
        ("", {"a": SECURITY_ONLY, "b": DEB822}, "http://other.example/debian"),
        ("", {"a": SECURITY_ONLY}, None),
        (UBUNTU, {}, None),
    ],
)
def test_the_mirror_of_a_host(
    tmp_path: Path, listed: str, files: dict[str, str], expected: str | None
) -> None:
    assert debian.mirror({}, host(tmp_path, listed, **files)) == expected


def test_a_host_without_apt_leaves_the_choice_to_debootstrap(tmp_path: Path) -> None:
    assert debian.mirror({}, tmp_path) is None


def test_without_debootstrap_one_sentence_says_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    with pytest.raises(RootFsError, match=r"hint: apt-get install debootstrap"):
        debian.build(tmp_path / "into", print)


def test_without_debians_keys_nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "KEYRING", str(tmp_path / "none.gpg"))
    monkeypatch.setattr("shutil.which", lambda name, path: "/bin/false")
    with pytest.raises(RootFsError, match=r"hint: apt-get install debian-archive-keyring"):
        debian.build(tmp_path / "into", print)


def test_a_debootstrap_that_fails_gives_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "debootstrap"
    program.write_text("#!/bin/sh\necho 'E: no such archive'\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(debian, "KEYRING", str(program))
    monkeypatch.setattr(debian, "_CONTAINED", [])
    with pytest.raises(RootFsError, match=r"(?s)code 3: E: no such archive.*UNBROKEN_DEBIAN_MIRROR"):
        debian.build(tmp_path / "into", print)


def test_not_being_root_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNBROKEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(RootFsError, match="needs root"):
        rootfs.ensure(print)
    assert not (tmp_path / "cache").exists()


def test_main_says_the_error_and_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNBROKEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert rootfs.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "MiB of disk, built once" in said.err
    assert "hint: run `sudo make setup` once" in said.err


def test_a_change_of_the_image_keeps_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    before = rootfs._names()
    monkeypatch.setattr(image, "recipe", lambda: "changed")
    after = rootfs._names()
    assert after["image"] != before["image"]
    assert {**after, "image": ""} == {**before, "image": ""}


def test_a_built_root_is_found_without_root_or_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNBROKEN_CACHE", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    final = tmp_path / rootfs._name()
    final.mkdir()
    (final / "layers").write_text("image-1\ndebian-1\n")
    for name in ("image-1", "debian-1"):
        (tmp_path / name).mkdir()
    assert rootfs.ensure(print) == final
    assert rootfs.layers(final) == [tmp_path / "image-1", tmp_path / "debian-1"]
    (tmp_path / "image-1").rmdir()
    with pytest.raises(RootFsError, match="needs root"):  # it is built again, and not taken for whole
        rootfs.ensure(print)


def test_what_nobody_used_for_a_month_is_removed(tmp_path: Path) -> None:
    now = 100 * 24 * 3600.0
    for name, listed, days in (("rootfs-a", "image-1 debian-1", 31), ("rootfs-b", "image-2 debian-2", 29)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "layers").write_text(listed)
        os.utime(tmp_path / name / "layers", (now - days * 24 * 3600, now - days * 24 * 3600))
    for name in ("image-1", "debian-1", "image-2", "debian-2", "somebody-elses"):
        (tmp_path / name).mkdir()
    rootfs._prune(tmp_path, now)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["debian-2", "image-2", "rootfs-b", "somebody-elses"]


def test_the_requirements_of_the_nodes_are_pinned_without_markers() -> None:
    lines = wheels.requirements("node-training.txt").read_text().splitlines()
    packages = [line for line in lines if line and line[0] not in "# "]
    assert len(packages) > 20
    assert all("==" in line and ";" not in line and line.endswith("\\") for line in packages)


def test_a_missing_requirement_file_is_said() -> None:
    with pytest.raises(RootFsError, match=r"nope\.txt is missing"):
        wheels.requirements("nope.txt")


def test_the_image_is_copied_with_modes_that_do_not_depend_on_ours(tmp_path: Path) -> None:
    tree, into = tmp_path / "tree", tmp_path / "into"
    (tree / "bin").mkdir(parents=True, mode=0o700)
    (tree / "bin/run").write_text("x")
    (tree / "bin/run").chmod(0o700)
    (tree / "bin/data").write_text("x")
    (tree / "bin/data").chmod(0o600)
    (tree / "bin/link").symlink_to("run")
    (tree / "__pycache__").mkdir()
    into.mkdir()
    image.copy(tree, into)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in into.rglob("*")}
    assert modes == {"bin": "0o755", "run": "0o755", "data": "0o644", "link": "0o755"}
    assert (into / "bin/link").is_symlink()


def test_what_a_build_downloads_and_takes_is_said_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNBROKEN_CACHE", str(tmp_path))
    (tmp_path / rootfs._names()["debian"]).mkdir()
    rootfs._say_sizes()
    said = capsys.readouterr().err
    assert f"about {wheels.AWS_CLI_DOWNLOAD_MIB + wheels.TRAINING_DOWNLOAD_MIB} MiB to download" in said
    (tmp_path / rootfs._name()).mkdir()
    rootfs._say_sizes()
    assert capsys.readouterr().err == ""
