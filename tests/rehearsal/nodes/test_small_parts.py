"""The parts that are pure: DNS answers, command lines, control group paths, the replayed nvidia-smi."""

from __future__ import annotations

import importlib.util
import json
import socket
import struct
from pathlib import Path
from types import ModuleType

import pytest

from unbroken.rehearsal.nodes import cgroups, enter
from unbroken.rehearsal.nodes.lab import spec
from unbroken.rehearsal.nodes.machines import _hardware
from unbroken.rehearsal.nodes.resolver import answer

IMAGE = Path(enter.__file__).parent / "image"
TYPE_A, TYPE_AAAA = 1, 28


def query(name: str, kind: int) -> bytes:
    """A DNS query."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def parsed(message: bytes) -> tuple[int, int, str | None]:
    """Error code, number of answers, address."""
    _, flags, _, answers, _, _ = struct.unpack_from("!HHHHHH", message)
    return flags & 15, answers, socket.inet_ntoa(message[-4:]) if answers else None


def test_a_known_name_has_its_address() -> None:
    table = {"ip-10-0-0-1": "10.0.0.1"}
    assert parsed(answer(query("IP-10-0-0-1", TYPE_A), table.get)) == (0, 1, "10.0.0.1")


def test_a_known_name_has_no_ipv6_address_and_that_is_no_error() -> None:
    assert parsed(answer(query("a", TYPE_AAAA), {"a": "10.0.0.1"}.get)) == (0, 0, None)


def test_an_unknown_name_does_not_exist() -> None:
    assert parsed(answer(query("nobody.example", TYPE_A), {"a": "10.0.0.1"}.get)) == (3, 0, None)


@pytest.mark.parametrize("length", [0, 5, 12, 14])
def test_a_torn_query_is_an_error_and_not_an_answer(length: int) -> None:
    with pytest.raises((IndexError, struct.error)):
        answer(query("abc", TYPE_A)[:length], {"abc": "10.0.0.1"}.get)


def test_the_command_from_the_host_enters_twice() -> None:
    argv = enter.command(100, 7, ["hostname"])
    assert argv[:5] == ["nsenter", "--target", "100", "--mount", "--pid"]
    assert argv[5] == "--root=/proc/100/root"  # not the mount namespace's, which differs in a chroot
    assert argv[6:9] == ["nsenter", "--target", "7"]
    assert argv[-3:] == ["HOME=/root", "TERM=xterm-256color", "hostname"]


def test_the_command_for_a_user() -> None:
    argv = enter.command(100, 7, ["squeue", "--me"], user="ubuntu")
    assert argv[argv.index("runuser") :][:4] == ["runuser", "-u", "ubuntu", "--"]
    assert argv[-2:] == ["squeue", "--me"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("systemd", "mine"),
        ("freezer", ""),
        ("memory", "a/b"),
        ("pids", ""),
        ("unified", "x.slice"),
        ("io", ""),
    ],
)
def test_our_own_control_group(tmp_path: Path, name: str, expected: str) -> None:
    table = tmp_path / "cgroup"
    table.write_text("9:name=systemd:/mine\n6:freezer:/\n4:memory,other:/a/b\n3:io:/../..\n0::/x.slice\n")
    assert cgroups.own(name, table) == expected


@pytest.mark.parametrize(
    ("there", "forced", "expected"),
    [
        ("freezer", "", "v1"),
        ("cgroup.controllers", "", "v2"),
        ("", "", "none"),
        ("freezer", "v2", "v2"),
        ("freezer", "nonsense", "v1"),
    ],
)
def test_the_host_decides_the_version_unless_it_is_forced(
    tmp_path: Path, there: str, forced: str, expected: str
) -> None:
    (tmp_path / there).mkdir(exist_ok=True)
    assert cgroups.version(tmp_path, {cgroups.FORCED: forced}) == expected


def test_directories_of_rehearsals_are_found_at_any_depth(tmp_path: Path) -> None:
    for name in ("freezer/unbroken-1/node1", "memory/a/b/unbroken-2", "memory/other"):
        (tmp_path / name).mkdir(parents=True)
    found = sorted(str(path.relative_to(tmp_path)) for path in cgroups.find(tmp_path))
    assert found == ["freezer/unbroken-1", "memory/a/b/unbroken-2"]


def test_removing_is_bottom_up_and_gives_up_in_time(tmp_path: Path) -> None:
    (tmp_path / "unbroken-1/node1/x").mkdir(parents=True)
    assert cgroups.remove([tmp_path / "unbroken-1"], timeout=0)
    (tmp_path / "unbroken-2").mkdir()
    (tmp_path / "unbroken-2/busy").write_text("a directory with a file stands for one with a process")
    assert not cgroups.remove([tmp_path / "unbroken-2"], timeout=0)


@pytest.fixture(scope="module")
def replay() -> ModuleType:
    """The node's program as a module."""
    path = IMAGE / "opt/rehearsal/lib/replay_nvidia_smi.py"
    found = importlib.util.spec_from_file_location("replay_nvidia_smi", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def smi(replay: ModuleType, tmp_path: Path, model: str, gpus: int, *argv: str) -> int:
    """Call it on a machine with these GPUs."""
    (tmp_path / "hardware.json").write_text(json.dumps({"gpu_model": model, "gpus": gpus}))
    if not (tmp_path / "recordings").exists():
        (tmp_path / "recordings").symlink_to(IMAGE / "opt/rehearsal/recordings")
    code = replay.main(list(argv), tmp_path)
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(("model", "gpus"), [("A100-80GB", 8), ("H100-80GB", 1), ("H200-141GB", 8)])
def test_list_and_links(
    replay: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, gpus: int
) -> None:
    assert smi(replay, tmp_path, model, gpus, "-L") == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in listed] == [f"GPU {index}" for index in range(gpus)]
    assert len({line.split("UUID")[1] for line in listed}) == gpus
    assert smi(replay, tmp_path, model, gpus, "nvlink", "-s") == 0
    assert capsys.readouterr().out.count("Link 0:") == gpus


def test_query_gpu(replay: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "--query-gpu=index,name,memory.total"
    assert smi(replay, tmp_path, "H100-80GB", 2, query, "--format=csv") == 0
    assert capsys.readouterr().out.splitlines()[0] == "index, name, memory.total [MiB]"
    assert smi(replay, tmp_path, "H100-80GB", 2, query, "--format=csv,noheader,nounits") == 0
    second = capsys.readouterr().out.splitlines()[1].split(", ")
    assert second[:2] == ["1", "NVIDIA H100 80GB HBM3"]
    assert second[2].isdigit()


def test_names_of_an_a100_come_from_its_links(
    replay: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "--query-gpu=count,name"
    assert smi(replay, tmp_path, "A100-80GB", 8, query, "--format=csv,noheader") == 0
    assert capsys.readouterr().out.splitlines() == ["8, NVIDIA A100-SXM4-80GB"] * 8


@pytest.mark.parametrize(
    ("model", "argv"),
    [
        ("A100-80GB", ["--query-gpu=memory.total", "--format=csv"]),
        ("A100-40GB", ["-L"]),
        ("L4-24GB", ["-L"]),
        ("H100-80GB", ["-q"]),
        ("H100-80GB", []),
    ],
)
def test_what_was_never_recorded_is_refused(
    replay: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, argv: list[str]
) -> None:
    assert smi(replay, tmp_path, model, 1, *argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "has no recording of" in said.err


def test_a_machine_without_gpus_has_no_driver(
    replay: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smi(replay, tmp_path, "", 0, "-L") == 9
    assert "couldn't communicate with the NVIDIA driver" in capsys.readouterr().out


def test_hardware_names_the_model_with_its_memory() -> None:
    assert _hardware(spec(0))["gpu_model"] == "A100-80GB"
    assert _hardware(spec(0, "ml.m5.12xlarge", gpus=0))["gpu_model"] == ""
