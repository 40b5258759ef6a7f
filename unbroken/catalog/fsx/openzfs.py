"""What FSx for OpenZFS offers by deployment type, on SSD storage.

Source: FSx API reference (CreateFileSystem: StorageCapacity; CreateFileSystemOpenZFSConfiguration). It lists
the throughputs of SINGLE_AZ_1, SINGLE_AZ_2 and MULTI_AZ_1 one by one; of the HA types it names the range,
which is that of the type without HA.
"""

from __future__ import annotations

CAPACITY_GIB = (64, 524_288)
"""Smallest and largest SSD storage."""
IOPS_PER_GIB = 3
"""SSD operations per second that come with each GiB; more can be bought."""

_FIRST_GENERATION = (64, 128, 256, 512, 1024, 2048, 3072, 4096)
_SECOND_GENERATION = (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240)
_THROUGHPUTS = {
    "SINGLE_AZ_1": _FIRST_GENERATION,
    "SINGLE_AZ_2": _SECOND_GENERATION,
    "SINGLE_AZ_HA_1": _FIRST_GENERATION,
    "SINGLE_AZ_HA_2": _SECOND_GENERATION,
    "MULTI_AZ_1": _SECOND_GENERATION,
}
DEPLOYMENTS = tuple(_THROUGHPUTS)


def throughputs(deployment: str) -> tuple[int, ...]:
    """MB/s that can be bought. Raises KeyError for an unknown deployment type."""
    return _THROUGHPUTS[deployment]


def capacity_problem(gib: int) -> tuple[int, ...]:
    """The nearest size offered, GiB, where ``gib`` is not; empty where it is."""
    least, most = CAPACITY_GIB
    return () if least <= gib <= most else (min(max(gib, least), most),)


def throughput_problem(deployment: str, mbps: int) -> tuple[int, ...]:
    """The nearest throughputs offered, MB/s, where ``mbps`` is not one; empty where it is."""
    offered = throughputs(deployment)
    if mbps in offered:
        return ()
    below = [each for each in offered if each < mbps][-1:]
    return (*below, *[each for each in offered if each > mbps][:1])
