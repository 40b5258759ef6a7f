"""What FSx refuses of an OpenZFS file system that the API's model does not (source as in ``lustre.py``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unbroken.catalog.fsx import openzfs as offered
from unbroken.rehearsal.aws.fsx.records import FsxError


def check(request: Mapping[str, Any]) -> None:
    """Raise FsxError with the first problem of a CreateFileSystem request for OpenZFS."""
    for text in _problems(request, request.get("OpenZFSConfiguration", {})):
        raise FsxError("BadRequest", text)


def _problems(request: Mapping[str, Any], zfs: Mapping[str, Any]) -> Iterator[str]:
    deployment = zfs.get("DeploymentType")
    if deployment not in offered.DEPLOYMENTS or "ThroughputCapacity" not in zfs:
        yield "OpenZFSConfiguration needs a DeploymentType and a ThroughputCapacity."
        return
    mbps, gib = int(zfs["ThroughputCapacity"]), int(request.get("StorageCapacity", 0))
    if offered.throughput_problem(deployment, mbps):
        allowed = ", ".join(str(each) for each in offered.throughputs(deployment))
        yield f"ThroughputCapacity {mbps} is invalid for {deployment}: use one of {allowed}."
    if request.get("StorageType", "SSD") != "SSD":
        yield f"StorageType {request['StorageType']} is not emulated for OpenZFS, only SSD."
    if offered.capacity_problem(gib):
        least, most = offered.CAPACITY_GIB
        yield f"StorageCapacity {gib} must be between {least} and {most} GiB."
    if deployment == "MULTI_AZ_1":
        yield "DeploymentType MULTI_AZ_1 is not emulated."
    iops = zfs.get("DiskIopsConfiguration", {}).get("Iops")
    if iops is not None and iops < offered.IOPS_PER_GIB * gib:
        yield f"Iops {iops} is less than the {offered.IOPS_PER_GIB} that come with each GiB."
