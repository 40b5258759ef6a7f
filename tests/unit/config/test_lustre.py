"""FSx for Lustre by type: what is refused, in which words, and that its neighbour is taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.config.build import load, told

EFA = {"efa": True, "capacity_gib": 38400, "throughput_mbps_per_tib": 125}
TIERING = {"storage_type": "INTELLIGENT_TIERING"}
BUCKETS = {"bucket": "one-bucket"}


@pytest.mark.parametrize(
    ("gib", "near"),
    [
        (0, "1200"), (-2400, "1200"), (1000, "1200"), (1201, "1200 or 2400"), (3600, "2400 or 4800"),
        (100_000, "98400 or 100800"), (1200, None), (2400, None), (4800, None), (460_800, None),
    ],
)  # fmt: skip
def test_up_059_a_size_that_is_not_offered_names_its_neighbours(gib: int, near: str | None) -> None:
    rule = "is not a size of PERSISTENT_2 on SSD: 1200 or a multiple of 2400 GiB"
    expected = [f"storage.capacity_gib: {gib} {rule} -> use {near}"] if near else []
    assert told(storage={"capacity_gib": gib}) == expected


GOOD: list[dict[str, Any]] = [
    {"deployment_type": "SCRATCH_1", "capacity_gib": 3600},
    {"deployment_type": "SCRATCH_2", "capacity_gib": 2400},
    {"deployment_type": "PERSISTENT_1"},
    {"deployment_type": "PERSISTENT_1", "throughput_mbps_per_tib": 50, "lustre_version": "2.12"},
    {"deployment_type": "PERSISTENT_1", "storage_type": "HDD"},
    {"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "throughput_mbps_per_tib": 40,
     "capacity_gib": 1800, "drive_cache": "READ"},
    TIERING,
    {**TIERING, "throughput_mbps": 8000, "read_cache": {"sizing": "USER_PROVISIONED", "gib": 64}},
    {**TIERING, "metadata": {"mode": "USER_PROVISIONED", "iops": 12000}},
    EFA,
    {"metadata": {"mode": "USER_PROVISIONED", "iops": 24000}},
    {"backup_days": 7, "data_repositories": []},
    {"data_repositories": [{"path": "/data"}, {"path": "/database", **BUCKETS}]},
    {"data_repositories": [{"prefix": "a"}, {"path": "/b", "prefix": "b"}]},
]  # fmt: skip


@pytest.mark.parametrize("storage", GOOD, ids=str)
def test_file_systems_that_fsx_offers(storage: dict[str, Any]) -> None:
    assert told(storage=storage) == []


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"throughput_mbps_per_tib": 300},
        "throughput_mbps_per_tib: 300 is not a throughput of PERSISTENT_2 on SSD",
    ),
    ({"throughput_mbps_per_tib": None}, "throughput_mbps_per_tib: null is not a throughput of PERSISTENT_2"),
    ({"capacity_gib": None}, "capacity_gib: null is not a size of PERSISTENT_2"),
    ({"deployment_type": "PERSISTENT_1", "throughput_mbps_per_tib": 250}, "use one of 50, 100, 200"),
    ({"deployment_type": "SCRATCH_2", "throughput_mbps_per_tib": 250}, "is for persistent SSD and HDD"),
    ({"deployment_type": "SCRATCH_1", "capacity_gib": 4800}, "use 3600 or 7200"),
    ({"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "capacity_gib": 1200}, "use 6000"),
    ({"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "drive_cache": None}, "is required by HDD"),
    ({"drive_cache": "READ"}, "drive_cache: READ is for HDD only"),
    (
        {"storage_type": "HDD"},
        "storage_type: HDD is not a storage type of PERSISTENT_2 -> use SSD, INTELLIGENT",
    ),
    ({"deployment_type": "SCRATCH_2", **TIERING}, "INTELLIGENT_TIERING is not a storage type of SCRATCH_2"),
    ({**TIERING, "capacity_gib": 1200}, "capacity_gib: 1200 is for file systems of a fixed size only"),
    ({**TIERING, "throughput_mbps_per_tib": 250}, "throughput_mbps_per_tib: 250 is for persistent SSD"),
    (
        {**TIERING, "throughput_mbps": 5000},
        "throughput_mbps: 5000 is not a throughput of INTELLIGENT_TIERING",
    ),
    ({**TIERING, "read_cache": None}, "read_cache: null is required by INTELLIGENT_TIERING"),
    ({**TIERING, "read_cache": {"sizing": "USER_PROVISIONED"}}, "gib: null is not a cache size at 4000 MB/s"),
    ({**TIERING, "read_cache": {"sizing": "NO_CACHE", "gib": 64}}, "gib: 64 has no effect with NO_CACHE"),
    ({**TIERING, "metadata": {"mode": "AUTOMATIC"}}, "mode: AUTOMATIC is for SSD only"),
    ({**TIERING, "metadata": {"mode": "USER_PROVISIONED", "iops": 24000}}, "iops: 24000 is not what INTELL"),
    ({"throughput_mbps": 4000}, "throughput_mbps: 4000 is for INTELLIGENT_TIERING only"),
    ({"read_cache": {}}, "is for INTELLIGENT_TIERING only"),
    ({"metadata": {"iops": 3000}}, "iops: 3000 has no effect with AUTOMATIC"),
    ({"metadata": {"mode": "USER_PROVISIONED", "iops": 2000}}, "iops: 2000 is not what SSD offers"),
    ({"deployment_type": "PERSISTENT_1", "metadata": {}}, "metadata: AUTOMATIC is for PERSISTENT_2 only"),
    (
        {"metadata": {}, "lustre_version": "2.12"},
        "2.12 is not a version for PERSISTENT_2 with metadata settings",
    ),
    ({"lustre_version": "2.10"}, "lustre_version: 2.10 is not a version for PERSISTENT_2"),
    ({**EFA, "capacity_gib": 2400}, "is not a size of PERSISTENT_2 on SSD with EFA: a multiple of 38400"),
    ({**EFA, "metadata": None}, "metadata: null is required beside efa"),
    ({"deployment_type": "SCRATCH_2", "efa": True}, "efa: true is for PERSISTENT_2 only"),
    ({"backup_days": 7}, "backup_days: 7 days of backups: FSx makes none of a file system that is linked"),
    ({"deployment_type": "SCRATCH_2", "backup_days": 7, "data_repositories": []}, "SCRATCH_2 has none"),
]


@pytest.mark.parametrize(("storage", "message"), BAD, ids=lambda value: str(value))
def test_file_systems_that_fsx_refuses(storage: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(storage=storage))


LINKS: list[tuple[dict[str, Any], str]] = [
    ({"data_repositories": [{}, {"path": "/data/more", **BUCKETS}]}, "/data/more overlaps /data"),
    ({"data_repositories": [{"path": "/data/a"}, {**BUCKETS}]}, "/data overlaps /data/a"),
    ({"data_repositories": [{}, {"path": "/b"}]}, "the data bucket is linked to /data already"),
    ({"data_repositories": [BUCKETS, {"path": "/b", **BUCKETS}]}, "one-bucket is linked to /data already"),
    ({"data_repositories": [{"prefix": "/a"}]}, "/a is not a prefix without a slash at either end"),
    ({"data_repositories": [{"prefix": "a/"}]}, "a/ is not a prefix"),
    ({"data_repositories": [{"bucket": "My_Bucket"}]}, "My_Bucket is not a bucket's name"),
    ({"data_repositories": [{"import_events": ["NEW", "NEW"]}]}, "names an event twice"),
    (
        {"data_repositories": [{"path": f"/{n}", "prefix": str(n)} for n in range(9)]},
        "has 9 entries, 8 at most",
    ),
    (
        {**TIERING, "data_repositories": [{}]},
        "cannot be: FSx links no buckets to PERSISTENT_2 on INTELLIGENT_TIERING",
    ),
    ({"deployment_type": "PERSISTENT_1", "lustre_version": "2.10"}, "FSx links no buckets to Lustre 2.10"),
]


@pytest.mark.parametrize(("storage", "message"), LINKS, ids=lambda value: str(value)[:60])
def test_up_061_links_that_fsx_refuses(storage: dict[str, Any], message: str) -> None:
    assert message in "\n".join(told(storage=storage))


def test_the_defaults_follow_the_type() -> None:
    """A file that names the type alone is a good one, so no default of another type is left."""
    scratch = load(storage={"deployment_type": "SCRATCH_1"}).storage
    assert (scratch.throughput_mbps_per_tib, scratch.data_repositories) == (None, [])
    tiering = load(storage=TIERING).storage
    assert (tiering.capacity_gib, tiering.throughput_mbps, tiering.data_repositories) == (None, 4000, [])
    assert load(storage={**EFA}).storage.metadata is not None
    assert load().storage.throughput_mbps_per_tib == 250


def test_a_wrong_throughput_does_not_hide_a_wrong_size() -> None:
    found = told(storage={"throughput_mbps_per_tib": 300, "capacity_gib": 3600})
    assert [line.split(":")[0] for line in found] == [
        "storage.throughput_mbps_per_tib",
        "storage.capacity_gib",
    ]
