"""What FSx refuses of file systems and associations, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from unbroken.rehearsal.aws.fsx import lustre, openzfs
from unbroken.rehearsal.aws.fsx.associations import _problems as of_association
from unbroken.rehearsal.aws.fsx.records import Association, FileSystem, FsxError

Request = dict[str, Any]
P2 = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250}
AUTOMATIC = {"Mode": "AUTOMATIC"}
TIERING = {
    "DeploymentType": "PERSISTENT_2",
    "ThroughputCapacity": 4000,
    "DataReadCacheConfiguration": {"SizingMode": "NO_CACHE"},
    "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
}
ZFS = {"DeploymentType": "SINGLE_AZ_HA_2", "ThroughputCapacity": 160}


def lustre_request(configuration: Request, gib: int | None = 1200, **changes: Any) -> Request:
    made: Request = {
        "FileSystemType": "LUSTRE",
        "SubnetIds": ["subnet-1"],
        "LustreConfiguration": configuration,
    }
    return made | ({} if gib is None else {"StorageCapacity": gib}) | changes


GOOD = [
    lustre_request(P2),
    lustre_request(P2, 4800),
    lustre_request({"DeploymentType": "SCRATCH_1"}, 7200),
    lustre_request({"DeploymentType": "SCRATCH_2"}, 2400, FileSystemTypeVersion="2.15"),
    lustre_request({"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 50}, 1200, KmsKeyId="k"),
    lustre_request(
        {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 12, "DriveCacheType": "READ"},
        6000, StorageType="HDD",
    ),
    lustre_request(P2 | {"MetadataConfiguration": AUTOMATIC, "EfaEnabled": True}, 19200),
    lustre_request(P2 | {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 12000}}),
    lustre_request(P2 | {"AutomaticBackupRetentionDays": 7, "CopyTagsToBackups": True}),
    lustre_request(TIERING, None, StorageType="INTELLIGENT_TIERING"),
    lustre_request(
        TIERING | {"DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 32}},
        None, StorageType="INTELLIGENT_TIERING",
    ),
]  # fmt: skip

BAD = [
    (lustre_request(P2, 1000), "Invalid Lustre FS storage capacity: 1000"),
    (lustre_request(P2, 3600), "storage capacity: 3600"),
    (lustre_request({"DeploymentType": "SCRATCH_1"}, 4800), "storage capacity: 4800"),
    (lustre_request(P2 | {"PerUnitStorageThroughput": 200}), "PerUnitStorageThroughput 200 is invalid"),
    (lustre_request({"DeploymentType": "PERSISTENT_2"}), "PerUnitStorageThroughput None is invalid"),
    (lustre_request({"DeploymentType": "SCRATCH_2", "PerUnitStorageThroughput": 125}), "be set for SCRATCH"),
    (lustre_request(P2, FileSystemTypeVersion="2.10"), "FileSystemTypeVersion 2.10 is not supported"),
    (
        lustre_request(P2 | {"MetadataConfiguration": AUTOMATIC}, FileSystemTypeVersion="2.12"),
        "FileSystemTypeVersion 2.12 is not supported",
    ),
    (lustre_request(P2, 6000, StorageType="HDD"), "StorageType HDD is not supported for PERSISTENT_2"),
    (
        lustre_request(
            {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 12}, 6000, StorageType="HDD"
        ),
        "DriveCacheType is required",
    ),
    (lustre_request(P2 | {"DriveCacheType": "READ"}), "DriveCacheType cannot be set"),
    (lustre_request(P2 | {"EfaEnabled": True}, 19200), "EfaEnabled needs a MetadataConfiguration"),
    (
        lustre_request(P2 | {"EfaEnabled": True, "MetadataConfiguration": AUTOMATIC}, 2400),
        "storage capacity: 2400. Must be a multiple of 19200 GiB with EFA",
    ),
    (lustre_request({"DeploymentType": "SCRATCH_2", "EfaEnabled": True}), "EfaEnabled is not supported"),
    (
        lustre_request({"DeploymentType": "SCRATCH_2", "MetadataConfiguration": AUTOMATIC}),
        "MetadataConfiguration is not supported",
    ),
    (lustre_request(P2 | {"MetadataConfiguration": AUTOMATIC | {"Iops": 1500}}), "set in mode AUTO"),
    (
        lustre_request(P2 | {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 5000}}),
        "Metadata Iops 5000 is invalid",
    ),
    (
        lustre_request(
            TIERING | {"MetadataConfiguration": AUTOMATIC}, None, StorageType="INTELLIGENT_TIERING"
        ),
        "Metadata mode AUTOMATIC is not supported",
    ),
    (lustre_request(TIERING, 1200, StorageType="INTELLIGENT_TIERING"), "StorageCapacity cannot be set"),
    (
        lustre_request(TIERING | {"ThroughputCapacity": 5000}, None, StorageType="INTELLIGENT_TIERING"),
        "ThroughputCapacity 5000 must be",
    ),
    (lustre_request(P2 | {"ThroughputCapacity": 4000}), "ThroughputCapacity cannot be set"),
    (
        lustre_request(
            {key: value for key, value in TIERING.items() if key != "DataReadCacheConfiguration"},
            None, StorageType="INTELLIGENT_TIERING",
        ),
        "DataReadCacheConfiguration is required",
    ),
    (
        lustre_request(
            TIERING | {"DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 16}},
            None, StorageType="INTELLIGENT_TIERING",
        ),
        "SizeGiB 16 must be between",
    ),
    (
        lustre_request(
            TIERING | {"DataReadCacheConfiguration": {"SizingMode": "NO_CACHE", "SizeGiB": 32}},
            None, StorageType="INTELLIGENT_TIERING",
        ),
        "SizeGiB cannot be set",
    ),
    (
        lustre_request(P2 | {"DataReadCacheConfiguration": {"SizingMode": "NO_CACHE"}}),
        "DataReadCacheConfiguration cannot be set",
    ),
    (lustre_request({"DeploymentType": "SCRATCH_2"}, KmsKeyId="k"), "KmsKeyId cannot be set"),
    (
        lustre_request({"DeploymentType": "SCRATCH_2", "AutomaticBackupRetentionDays": 1}),
        "Automatic backups are not supported",
    ),
]  # fmt: skip


@pytest.mark.parametrize("request_", GOOD)
def test_lustre_takes(request_: Request) -> None:
    lustre.check(request_)


@pytest.mark.behaviour("HP206")
@pytest.mark.parametrize(("request_", "said"), BAD, ids=[said for _, said in BAD])
def test_lustre_refuses(request_: Request, said: str) -> None:
    with pytest.raises(FsxError) as refused:
        lustre.check(request_)
    assert said in str(refused.value)


def zfs(gib: int = 64, **changes: Any) -> Request:
    return {"FileSystemType": "OPENZFS", "StorageCapacity": gib, "OpenZFSConfiguration": ZFS | changes}


def test_openzfs_takes() -> None:
    openzfs.check(zfs())
    openzfs.check(zfs(1024, DiskIopsConfiguration={"Mode": "USER_PROVISIONED", "Iops": 3072}))


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (zfs(ThroughputCapacity=64), "ThroughputCapacity 64 is invalid for SINGLE_AZ_HA_2"),
        (zfs(32), "StorageCapacity 32 must be between"),
        (zfs(DeploymentType="MULTI_AZ_1"), "MULTI_AZ_1 is not emulated"),
        (zfs(DeploymentType="other"), "needs a DeploymentType"),
        (zfs() | {"StorageType": "INTELLIGENT_TIERING"}, "is not emulated for OpenZFS"),
        (zfs(64, DiskIopsConfiguration={"Iops": 10}), "Iops 10 is less than"),
    ],
)
def test_openzfs_refuses(request_: Request, said: str) -> None:
    with pytest.raises(FsxError, match=said):
        openzfs.check(request_)


def linked(configuration: Request | None = None, kind: str = "LUSTRE", **changes: Any) -> FileSystem:
    return FileSystem(
        "fs-0123456789abcdef0",
        kind,
        "us-west-2",
        lustre_request(configuration or P2, **changes),
        "vpc-1",
        "eni-1",
    )


def link(path: str = "/data", repository: str = "s3://one/") -> Request:
    return {"FileSystemId": "fs-0123456789abcdef0", "FileSystemPath": path, "DataRepositoryPath": repository}


def association(path: str, repository: str) -> Association:
    return Association("dra-1", "fs-0123456789abcdef0", path, repository, {}, [])


ONE = association("/data", "s3://one/")


@pytest.mark.parametrize(
    ("request_", "system", "others", "said"),
    [
        (link(), linked(), [], None),
        (link("/more", "s3://one/more/"), linked(), [ONE], None),
        (link("/data/more", "s3://two"), linked(), [ONE], "overlaps"),
        (link("/", "s3://two"), linked(), [ONE], "overlaps"),
        (link("/more", "s3://one"), linked(), [ONE], "another association's already"),
        (link("more"), linked(), [], "must start with a slash"),
        (link(), linked({"DeploymentType": "SCRATCH_1"}), [], "need Lustre 2.12 or 2.15"),
        (link(), linked({"DeploymentType": "SCRATCH_2"}), [], "need Lustre 2.12 or 2.15"),
        (link(), linked({"DeploymentType": "SCRATCH_2"}, FileSystemTypeVersion="2.15"), [], None),
        (link(), linked(P2 | {"AutomaticBackupRetentionDays": 1}), [], "AutomaticBackupRetentionDays cannot"),
        (link(), linked(P2 | {"CopyTagsToBackups": True}), [], "CopyTagsToBackups cannot be used"),
        (link(), linked(P2 | {"ImportPath": "s3://x"}), [], "ImportPath cannot be used"),
        (link(), linked(kind="OPENZFS"), [], "has no data repository associations"),
        (
            link("/9", "s3://nine"),
            linked(),
            [association(f"/{number}", f"s3://b{number}") for number in range(8)],
            "at most 8",
        ),
    ],
)  # fmt: skip
def test_associations(
    request_: Request, system: FileSystem, others: list[Association], said: str | None
) -> None:
    found = list(of_association(request_, system, others))
    assert found == [] if said is None else any(said in problem for problem in found)
