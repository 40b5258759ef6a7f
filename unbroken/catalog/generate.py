"""Makes the catalogue's data files and its reference page; a tool of the project's developers.

``python -m unbroken.catalog.generate`` writes which types HyperPod takes, from the data of cfn-lint and
botocore, and the page. With a file that holds the answer of ``aws ec2 describe-instance-types``, and a few
words on where and when it was asked, it writes the facts too: ``... answer.json "us-west-2, 2026-11-30"``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from botocore.loaders import Loader

from unbroken.catalog.instance_page import PAGE_FILE, page
from unbroken.catalog.instance_types import COLUMNS

DATA = Path("unbroken/catalog/data")
_CLUSTER = "AWS::SageMaker::Cluster"
_BANDWIDTH = re.compile(r"(?:(\d+)x )?(\d+(?:\.\d+)?) Gigabit")


def accepted() -> str:
    """Which types each region takes, and which the API takes besides; the text of ``accepted.json``."""
    schemas = _cfn_lint() / "data/schemas"
    listed = json.loads((schemas / "extensions/aws_sagemaker_cluster/instancetype_enum.json").read_text())
    regions = {name: sorted(part["enum"]) for name, part in listed.items() if isinstance(part, dict)}
    document = {
        "source": f"cfn-lint {version('cfn-lint')} (types by region; regions that have {_CLUSTER}), "
        f"botocore {version('botocore')} (ClusterInstanceType)",
        "cluster_regions": sorted(_regions_with_clusters(schemas / "providers")),
        "only_in_api": sorted(_api_types().difference(*regions.values())),
        "regions": dict(sorted(regions.items())),
    }
    return json.dumps(document, indent=1) + "\n"


def described(types: Iterable[Mapping[str, Any]], source: str, wanted: Iterable[str]) -> str:
    """Facts of the types ``wanted``, from DescribeInstanceTypes; the text of ``described.json``."""
    answers = {f"ml.{answer['InstanceType']}": answer for answer in types}
    rows = [
        f"  {json.dumps(name)}: {json.dumps(row(answers[name]))}"
        for name in sorted(wanted)
        if name in answers
    ]
    head = f'{{\n "source": {json.dumps(source)},\n "columns": {json.dumps(COLUMNS)},\n "types": {{\n'
    return head + ",\n".join(rows) + "\n }\n}\n"


def row(answer: Mapping[str, Any]) -> list[Any]:
    """The facts of one type in the order of COLUMNS, from its part of DescribeInstanceTypes."""
    network, cpus = answer["NetworkInfo"], answer["VCpuInfo"]
    return [
        cpus["DefaultVCpus"],
        answer["MemoryInfo"]["SizeInMiB"],
        answer["ProcessorInfo"]["SupportedArchitectures"][0],
        max(cpus.get("ValidThreadsPerCore") or [cpus["DefaultThreadsPerCore"]]),
        *_devices(answer.get("GpuInfo", {}).get("Gpus")),
        *_devices(answer.get("NeuronInfo", {}).get("NeuronDevices")),
        network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        network["MaximumNetworkCards"],
        network["Ipv4AddressesPerInterface"],
        _gbps(network),
        answer.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
    ]


def _devices(devices: list[Mapping[str, Any]] | None) -> tuple[int, str | None, int | None]:
    """How many accelerators, which, and the memory of one in MiB; no type mixes models."""
    if not devices:
        return 0, None, None
    (device,) = devices
    return device["Count"], device["Name"], device["MemoryInfo"]["SizeInMiB"]


def _gbps(network: Mapping[str, Any]) -> float | None:
    """What the network carries without bursts, which only types with one card have."""
    words = network["NetworkPerformance"]
    if words.startswith("Up to"):
        (card,) = network["NetworkCards"]
        baseline: float = card["BaselineBandwidthInGbps"]
        return baseline
    match = _BANDWIDTH.fullmatch(words)
    return int(match[1] or 1) * float(match[2]) if match else None


def _cfn_lint() -> Path:
    """cfn-lint's folder, without importing it."""
    spec = find_spec("cfnlint")
    if spec is None or spec.origin is None:
        raise SystemExit("cfn-lint is not installed; it comes with the extra 'rehearse'")
    return Path(spec.origin).parent


def _regions_with_clusters(folder: Path) -> list[str]:
    files = [path for path in folder.glob("*-*.json") if path.stem.count("-") >= 2]
    return [path.stem for path in files if _CLUSTER in json.loads(path.read_text(encoding="utf-8"))]


def _api_types() -> set[str]:
    """What the API's model lists for ClusterInstanceType."""
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    return set(shapes["ClusterInstanceType"]["enum"])


def main(arguments: list[str]) -> int:
    """Write the files below the current folder, the checkout's."""
    text = accepted()
    files = {DATA / "accepted.json": text}
    if arguments:
        answer, source = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), arguments[1]
        listed = json.loads(text)
        wanted = set(listed["only_in_api"]).union(*listed["regions"].values())
        files[DATA / "described.json"] = described(answer["InstanceTypes"], source, wanted)
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")
    PAGE_FILE.write_text(page(), encoding="utf-8")
    print("\n".join(f"wrote {path}" for path in (*files, PAGE_FILE)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
