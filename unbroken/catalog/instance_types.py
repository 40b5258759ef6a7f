"""What each instance type has: cores, memory, accelerators, EFA interfaces, local NVMe. No prices, no quotas.

Source: Amazon EC2 instance type reference and "EFA: supported instance types"; only types that SageMaker
HyperPod accepts (API reference, ClusterInstanceGroupSpecification). A type missing here is refused by the
cluster file's check, since nothing else could be derived for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class InstanceType:
    """One row of the catalogue."""

    name: str
    vcpus: int
    """With two threads per core, where the processor has them."""
    memory_gib: int
    max_threads_per_core: int = 2
    gpus: int = 0
    """NVIDIA GPUs."""
    gpu_model: str | None = None
    gpu_memory_gib: int = 0
    """Memory of one GPU."""
    neuron_devices: int = 0
    """AWS Trainium devices (not cores)."""
    efa_interfaces: int = 0
    efa_rdma: bool = False
    """Whether a job sets FI_EFA_USE_DEVICE_RDMA=1; libfabric stops with an error where there is no RDMA."""
    nvme_gib: int = 0
    """Instance store, all local disks together, rounded down."""

    @property
    def cores(self) -> int:
        """Physical cores."""
        return self.vcpus // self.max_threads_per_core


def _gpu(
    name: str, vcpus: int, memory: int, gpus: str, efa: int = 0, rdma: bool = False, nvme: int = 0
) -> InstanceType:
    """A GPU row; ``gpus`` reads "8 A100 80": how many, which, and the memory of each in GiB."""
    count, model, each = gpus.split()
    return InstanceType(
        name, vcpus, memory, gpus=int(count), gpu_model=model, gpu_memory_gib=int(each),
        efa_interfaces=efa, efa_rdma=rdma, nvme_gib=nvme,
    )  # fmt: skip


def _trainium(name: str, vcpus: int, memory: int, devices: int, efa: int, nvme: int) -> InstanceType:
    return InstanceType(
        name, vcpus, memory, neuron_devices=devices, efa_interfaces=efa, efa_rdma=efa > 0, nvme_gib=nvme
    )


def _family(family: str, gib_per_vcpu: int, vcpus_by_size: dict[str, int]) -> Iterator[InstanceType]:
    """General-purpose types, whose memory follows from their cores."""
    for size, vcpus in vcpus_by_size.items():
        yield InstanceType(f"ml.{family}.{size}", vcpus, int(vcpus * gib_per_vcpu))


_SIZES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
_SIZES_M5 = {**_SIZES, "8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96}
_SIZES_C5 = {**_SIZES, "9xlarge": 36, "12xlarge": 48, "18xlarge": 72, "24xlarge": 96}
_SIZES_I6 = {**_SIZES, "8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96, "32xlarge": 128}
_SIZES_I7 = {**_SIZES, "8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96, "48xlarge": 192}


def _accelerated() -> Iterator[InstanceType]:
    yield _gpu("ml.p4d.24xlarge", 96, 1152, "8 A100 40", efa=4, rdma=True, nvme=7450)
    yield _gpu("ml.p4de.24xlarge", 96, 1152, "8 A100 80", efa=4, rdma=True, nvme=7450)
    yield _gpu("ml.p5.4xlarge", 16, 256, "1 H100 80", efa=1, rdma=True, nvme=3536)
    yield _gpu("ml.p5.48xlarge", 192, 2048, "8 H100 80", efa=32, rdma=True, nvme=28290)
    yield _gpu("ml.p5e.48xlarge", 192, 2048, "8 H200 141", efa=32, rdma=True, nvme=28290)
    yield _gpu("ml.p5en.48xlarge", 192, 2048, "8 H200 141", efa=16, rdma=True, nvme=28290)
    yield _gpu("ml.p6-b200.48xlarge", 192, 2048, "8 B200 179", efa=8, rdma=True, nvme=28290)
    yield from _g_types()
    yield _trainium("ml.trn1.2xlarge", 8, 32, 1, efa=0, nvme=441)
    yield _trainium("ml.trn1.32xlarge", 128, 512, 16, efa=8, nvme=7078)
    yield _trainium("ml.trn1n.32xlarge", 128, 512, 16, efa=16, nvme=7078)
    yield _trainium("ml.trn2.48xlarge", 192, 2048, 16, efa=16, nvme=7078)


def _g_types() -> Iterator[InstanceType]:
    """G5, G6 and G6e: EFA on the larger sizes only, without device RDMA."""
    yield _gpu("ml.g5.xlarge", 4, 16, "1 A10G 24", nvme=232)
    yield _gpu("ml.g5.2xlarge", 8, 32, "1 A10G 24", nvme=419)
    yield _gpu("ml.g5.4xlarge", 16, 64, "1 A10G 24", nvme=558)
    yield _gpu("ml.g5.8xlarge", 32, 128, "1 A10G 24", efa=1, nvme=838)
    yield _gpu("ml.g5.12xlarge", 48, 192, "4 A10G 24", efa=1, nvme=3539)
    yield _gpu("ml.g5.16xlarge", 64, 256, "1 A10G 24", efa=1, nvme=1769)
    yield _gpu("ml.g5.24xlarge", 96, 384, "4 A10G 24", efa=1, nvme=3539)
    yield _gpu("ml.g5.48xlarge", 192, 768, "8 A10G 24", efa=1, nvme=7078)
    yield _gpu("ml.g6.xlarge", 4, 16, "1 L4 24", nvme=232)
    yield _gpu("ml.g6.2xlarge", 8, 32, "1 L4 24", nvme=419)
    yield _gpu("ml.g6.4xlarge", 16, 64, "1 L4 24", nvme=558)
    yield _gpu("ml.g6.8xlarge", 32, 128, "1 L4 24", efa=1, nvme=838)
    yield _gpu("ml.g6.12xlarge", 48, 192, "4 L4 24", efa=1, nvme=3503)
    yield _gpu("ml.g6.16xlarge", 64, 256, "1 L4 24", efa=1, nvme=1750)
    yield _gpu("ml.g6.24xlarge", 96, 384, "4 L4 24", efa=1, nvme=3503)
    yield _gpu("ml.g6.48xlarge", 192, 768, "8 L4 24", efa=1, nvme=7006)
    yield _gpu("ml.g6e.xlarge", 4, 32, "1 L40S 48", nvme=232)
    yield _gpu("ml.g6e.2xlarge", 8, 64, "1 L40S 48", nvme=419)
    yield _gpu("ml.g6e.4xlarge", 16, 128, "1 L40S 48", nvme=558)
    yield _gpu("ml.g6e.8xlarge", 32, 256, "1 L40S 48", efa=1, nvme=838)
    yield _gpu("ml.g6e.12xlarge", 48, 384, "4 L40S 48", efa=1, nvme=3539)
    yield _gpu("ml.g6e.16xlarge", 64, 512, "1 L40S 48", efa=1, nvme=1769)
    yield _gpu("ml.g6e.24xlarge", 96, 768, "4 L40S 48", efa=2, nvme=3539)
    yield _gpu("ml.g6e.48xlarge", 192, 1536, "8 L40S 48", efa=4, nvme=7078)


def _general() -> Iterator[InstanceType]:
    yield from _family("t3", 4, {"large": 2, "xlarge": 4, "2xlarge": 8})
    yield from _family("m5", 4, _SIZES_M5)
    yield from _family("c5", 2, _SIZES_C5)
    yield from _family("m6i", 4, {size: n for size, n in _SIZES_I6.items() if size != "4xlarge"})
    yield from _family("c6i", 2, _SIZES_I6)
    yield from _family("r6i", 8, _SIZES_I6)
    yield from _family("m7i", 4, _SIZES_I7)
    yield from _family("r7i", 8, _SIZES_I7)


@cache
def _catalogue() -> dict[str, InstanceType]:
    return {row.name: row for row in (*_accelerated(), *_general())}


def get(name: str) -> InstanceType:
    """The row of one type, by its HyperPod name (``ml.p4de.24xlarge``). Raises KeyError if unknown."""
    return _catalogue()[name]


def names() -> list[str]:
    """All known types, sorted."""
    return sorted(_catalogue())
