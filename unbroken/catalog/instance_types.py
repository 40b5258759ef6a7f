"""What each instance type has: cores, memory, accelerators, EFA interfaces, local disks, addresses.

Every type that SageMaker HyperPod accepts is here; a fact that no source gives is None, which means unknown
and is never a guess. No prices, no quotas. The data: ``data/accepted.json`` (which types, generated),
``data/described.json`` (facts as EC2 tells them, generated) and ``data/curated.json`` (facts from
documentation, which go first); each names its sources. ``unbroken.catalog.generate`` makes the first two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from unbroken.catalog.documents import document

COLUMNS = (
    "vcpus",
    "memory_mib",
    "architecture",
    "max_threads_per_core",
    "gpus",
    "gpu_model",
    "gpu_memory_mib",
    "neuron_devices",
    "neuron_model",
    "neuron_memory_mib",
    "efa_interfaces",
    "network_cards",
    "addresses_per_interface",
    "network_gbps",
    "nvme_gb",
)
"""The facts of a row in ``data/described.json``, in order."""
_GB, _GIB = 10**9, 2**30


@dataclass(frozen=True)
class InstanceType:
    """One row of the catalogue; None is unknown."""

    name: str
    """HyperPod's name, with ``ml.``."""
    vcpus: int | None = None
    """With as many threads per core as the processor has."""
    memory_mib: int | None = None
    architecture: str | None = None
    """``x86_64``, or ``arm64`` for AWS Graviton and NVIDIA Grace."""
    max_threads_per_core: int | None = None
    """Also what runs unless ThreadsPerCore says otherwise."""
    gpus: int | None = None
    """NVIDIA GPUs."""
    gpu_model: str | None = None
    gpu_memory_mib: int | None = None
    """Memory of one GPU."""
    neuron_devices: int | None = None
    """AWS Trainium or Inferentia devices (not cores)."""
    neuron_model: str | None = None
    neuron_memory_mib: int | None = None
    """Memory of one device."""
    efa_interfaces: int | None = None
    rdma_read: bool | None = None
    """Whether its EFA reads remote memory."""
    rdma_write: bool | None = None
    """Whether its EFA writes remote memory."""
    network_cards: int | None = None
    addresses_per_interface: int | None = None
    """IPv4 addresses that one network interface can hold."""
    network_gbps: float | None = None
    """Network bandwidth without bursts, all cards together."""
    nvme_gb: int | None = None
    """Instance store, all local disks together, in 10^9 bytes."""

    @property
    def family(self) -> str:
        """``p5`` for ``ml.p5.48xlarge``."""
        return self.name.split(".")[1]

    @property
    def cores(self) -> int | None:
        """Physical cores."""
        if self.vcpus is None or self.max_threads_per_core is None:
            return None
        return self.vcpus // self.max_threads_per_core

    @property
    def memory_gib(self) -> int | None:
        """Main memory, rounded down."""
        return None if self.memory_mib is None else self.memory_mib // 1024

    @property
    def gpu_memory_gib(self) -> int | None:
        """Memory of one GPU, rounded down."""
        return None if self.gpu_memory_mib is None else self.gpu_memory_mib // 1024

    @property
    def nvme_gib(self) -> int | None:
        """Instance store, rounded down."""
        return None if self.nvme_gb is None else self.nvme_gb * _GB // _GIB

    @property
    def efa_rdma(self) -> bool:
        """Whether a job sets FI_EFA_USE_DEVICE_RDMA=1; libfabric stops where the device has no RDMA."""
        return bool(self.rdma_read)

    @property
    def addresses_slurm(self) -> int | None:
        """Addresses of the subnet that a node of a Slurm cluster takes: one per network card.

        Source: SageMaker HyperPod developer guide, prerequisites, on P5 (32); others by the same rule.
        """
        return self.network_cards

    @property
    def addresses_eks(self) -> int | None:
        """Addresses that a node of an EKS cluster takes: those of one interface, and one per further card.

        Source: as for ``addresses_slurm``; P5 takes 50 and 31, which is 81.
        """
        if self.network_cards is None or self.addresses_per_interface is None:
            return None
        return self.addresses_per_interface + self.network_cards - 1


def get(name: str) -> InstanceType:
    """The row of one type, by its HyperPod name (``ml.p4de.24xlarge``). Raises KeyError if unknown."""
    return _catalogue()[name]


def names() -> list[str]:
    """All types that HyperPod accepts in some region, sorted."""
    return list(_catalogue())


def in_region(region: str) -> frozenset[str] | None:
    """The types that HyperPod has a price for in a region; None where the list has no such region.

    AWS may offer more: a type of the API that is in no region's list is in none here (see ``offered``).
    """
    return regions().get(region)


def offered(name: str, region: str) -> bool | None:
    """Whether HyperPod offers a type in a region; None where the list cannot tell."""
    here = in_region(region)
    if here is None or name in document("accepted")["only_in_api"]:
        return None
    return name in here


def sources() -> dict[str, str]:
    """Where the facts come from, by data file or by the type it is about."""
    curated = document("curated")
    return {
        **{part: document(part)["source"] for part in ("accepted", "described")},
        "rdma": curated["rdma"]["source"],
        **{f"ml.{name}": facts["source"] for name, facts in curated["types"].items()},
    }


@cache
def regions() -> dict[str, frozenset[str]]:
    """The types of each region that the list has."""
    return {region: frozenset(found) for region, found in document("accepted")["regions"].items()}


@cache
def _catalogue() -> dict[str, InstanceType]:
    accepted = document("accepted")
    known = set(accepted["only_in_api"]).union(*accepted["regions"].values())
    return {name: InstanceType(name, **dict(_facts(name))) for name in sorted(known)}


def _facts(name: str) -> Iterator[tuple[str, Any]]:
    """What the data says of one type; of two sayings the last counts."""
    plain, family = name.removeprefix("ml."), name.split(".")[1]
    curated = document("curated")
    row = document("described")["types"].get(name)
    facts = dict(zip(COLUMNS, row, strict=True)) if row else {}
    facts |= curated["types"].get(plain, {})
    yield from ((key, value) for key, value in facts.items() if key != "source")
    if facts.get("efa_interfaces") == 0:
        yield from (("rdma_read", False), ("rdma_write", False))
        return
    for kind, answer in _RDMA.items():
        if family in curated["rdma"][kind]:
            yield from zip(("rdma_read", "rdma_write"), answer, strict=True)


_RDMA = {"read_and_write": (True, True), "read_only": (True, False), "none": (False, False)}
