"""The reference page of instance types, made from the catalogue; a test holds it in step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from unbroken.catalog import instance_types
from unbroken.catalog.instance_types import InstanceType

PAGE_FILE = Path("docs/reference/instance-types.md")
UNKNOWN = "unknown"

_INTRODUCTION = """# Instance types

<!-- Made by `python -m unbroken.catalog.generate`; the facts are in unbroken/catalog/data. -->

Every type that HyperPod accepts, with what the project knows of it. `unknown` means that no source we have
says it, not that the type has none. Nothing here was asked of an AWS account by this project.

- **threads** per core, unless the cluster file's `threads_per_core` sets fewer
- **accelerators** with the memory of each, in GiB rounded down
- **EFA** interfaces, and whether they read (r) and write (w) remote memory (RDMA)
- **Gbit/s** of network without bursts, all cards together
- **NVMe** in GB (10^9 bytes), all local disks together
- **addresses** of the subnet that a node takes, in a Slurm and in an EKS cluster. The HyperPod developer
  guide states the rule for P5: one per network card in Slurm (32); in EKS, those of one interface and one
  per further card (81). The same rule is applied to the others.
- **regions** in which the type is listed, out of {regions}

Sources:

{sources}

| type | vCPU | threads | memory GiB | arch | accelerators | EFA | Gbit/s | NVMe | addresses | regions |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def page() -> str:
    """The page as Markdown."""
    types = [instance_types.get(name) for name in instance_types.names()]
    count = str(len(instance_types.regions()))
    sources = "\n".join(f"- {what}: {source}" for what, source in instance_types.sources().items())
    introduction = _INTRODUCTION.format(regions=count, sources=sources)
    return introduction + "".join(f"| {' | '.join(line)} |\n" for line in _lines(types))


def _lines(types: list[InstanceType]) -> Iterator[list[str]]:
    """Families in order; within one, small types first."""
    for _, family in groupby(types, lambda each: each.family):
        for each in sorted(family, key=lambda one: (one.vcpus or 0, one.name)):
            yield _line(each)


def _line(each: InstanceType) -> list[str]:
    return [
        f"`{each.name}`",
        shown(each.vcpus),
        shown(each.max_threads_per_core),
        shown(each.memory_gib),
        shown(each.architecture),
        accelerators(each),
        _efa(each),
        UNKNOWN if each.network_gbps is None else f"{each.network_gbps:g}",
        shown(each.nvme_gb),
        f"{shown(each.addresses_slurm)} / {shown(each.addresses_eks)}",
        _regions(each.name),
    ]


def shown(value: int | str | None) -> str:
    """The value, or that it is unknown; a plain zero is a dash."""
    return UNKNOWN if value is None else str(value or "-")


def accelerators(each: InstanceType) -> str:
    """``8 x H100 (80)``: how many, which, and the memory of each in GiB."""
    if each.gpus:
        return f"{each.gpus} x {each.gpu_model} ({shown(each.gpu_memory_gib)})"
    if each.neuron_devices:
        memory = None if each.neuron_memory_mib is None else each.neuron_memory_mib // 1024
        return f"{each.neuron_devices} x {each.neuron_model} ({shown(memory)})"
    return UNKNOWN if None in (each.gpus, each.neuron_devices) else "-"


def _efa(each: InstanceType) -> str:
    if each.efa_interfaces == 0:
        return "-"
    rdma = {True: "", False: "no ", None: f"{UNKNOWN} "}
    return f"{shown(each.efa_interfaces)}, {rdma[each.rdma_read]}r, {rdma[each.rdma_write]}w"


def _regions(name: str) -> str:
    count = sum(name in types for types in instance_types.regions().values())
    return str(count) if count else "in the API only"
