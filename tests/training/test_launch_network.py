"""Which network NCCL took, from lines of its log as people have published them (host names shortened)."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.launch.network import Chosen, NetworkCheck, chosen, library_path

EFA = """\
h2:6831:6840 [0] NCCL INFO NET/OFI Selected Provider is efa (found 16 nics)
h2:6831:6840 [0] NCCL INFO PROFILER/Plugin: Could not find: libnccl-profiler.so.
h2:6831:6840 [0] NCCL INFO Using network Libfabric
"""
OLD_EFA = """\
ip-10:417138:417176 [7] NCCL INFO NET/OFI Selected Provider is efa
ip-10:417138:417176 [7] NCCL INFO Using network AWS Libfabric
ip-10:417133:417133 [2] NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin_v6 symbol.
ip-72:8716:9558 [7] NCCL INFO Ring 00 : 26[2] -> 30[6] [send] via NET/AWS Libfabric/0
"""
NO_PLUGIN = """\
c1:12:99 [1] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so).
c1:12:99 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]
c1:12:99 [1] NCCL INFO Using network Socket
c1:12:99 [1] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0
"""
NO_DEVICE = """\
ip-90:19:19 [0] nccl_net_ofi_rdma_init:7978 NCCL WARN NET/OFI OFI fi_getinfo() call failed: No data available
ip-90:1929:1937 [0] NCCL INFO Using network Socket
"""


def told(log: str) -> list[str]:
    said: list[str] = []
    check = NetworkCheck(said.append)
    for line in log.splitlines() * 2:
        check.line(f"3: {line}")
    return said


@pytest.mark.parametrize("log", [EFA, OLD_EFA])
def test_efa_is_nothing_to_speak_of(log: str) -> None:
    assert told(log) == []


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (NO_PLUGIN, "(NET/Plugin : No plugin found (libnccl-net.so).)"),
        (NO_DEVICE, "(NET/OFI OFI fi_getinfo() call failed: No data available)"),
    ],
)
def test_sockets_are_told_once_with_the_plugins_words(log: str, why: str) -> None:
    (said,) = told(log)
    assert said.startswith(f"NCCL uses TCP sockets although these nodes have EFA {why}")


@pytest.mark.parametrize(
    ("line", "network"),
    [
        ("h:1:1 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)", "efa"),
        ("h:1:1 [0] NCCL INFO NET/OFI Selected Provider is tcp", "libfabric"),
        ("h:1:1 [0] NCCL INFO Using network IB", "other"),
        ("h:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.36.29.253<0>", None),
        ("step 3 Using network Socket", None),
    ],
)
def test_what_a_line_says(line: str, network: Chosen | None) -> None:
    assert chosen(line) == network


@pytest.mark.parametrize(
    ("file", "path", "name"),
    [
        ("opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-net.so", "x86_64-linux-gnu", None),
        ("opt/aws-ofi-nccl/lib/libnccl-net.so", "/opt/aws-ofi-nccl/lib", None),
        ("opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", "/opt/amazon/ofi-nccl/lib", "ofi"),
    ],
)
def test_the_plugin_is_put_in_the_loaders_path(
    file: str, path: str, name: str | None, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    found = library_path({"LD_LIBRARY_PATH": "/mine"}, tmp_path)
    first, second, last = found["LD_LIBRARY_PATH"].split(":")
    assert first.endswith(path) and (second, last) == ("/opt/amazon/efa/lib", "/mine")
    assert found.get("NCCL_NET_PLUGIN") == name
    assert library_path(found, tmp_path) == {}, "not twice"


def test_nothing_is_set_where_there_is_no_plugin(tmp_path: Path) -> None:
    assert library_path({}, tmp_path) == {}
