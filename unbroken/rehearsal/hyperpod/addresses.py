"""Private addresses out of the customer's subnet, and the names the service gives."""

from __future__ import annotations

import ipaddress
import secrets
import string
from collections.abc import Iterator

_RESERVED_AT_START = 4
_FIRST_CHOICE = 10
"""Lower ones are left to the VPC's own interfaces where the subnet is large enough."""


def prefix_length(cidr: str) -> int:
    """Number of network bits."""
    return ipaddress.IPv4Network(cidr).prefixlen


def router(cidr: str) -> str:
    """The VPC router's address: the first after the network's own."""
    return str(ipaddress.IPv4Network(cidr)[1])


def allocate(cidr: str, count: int, taken: frozenset[str]) -> list[str]:
    """The first ``count`` free addresses; ValueError where the subnet has too few.

    AWS reserves the first four and the last address of every subnet (Amazon VPC user guide, "Subnet CIDR
    blocks"). The order is fixed, so the same request always gets the same addresses.
    """
    found = [address for address in _usable(cidr) if address not in taken]
    if len(found) < count:
        raise ValueError(f"subnet {cidr} has {len(found)} free addresses, {count} are needed")
    return found[:count]


def _usable(cidr: str) -> Iterator[str]:
    network = ipaddress.IPv4Network(cidr)
    end = network.num_addresses - 1
    start = min(_FIRST_CHOICE, end)
    for offset in [*range(start, min(end, 8192)), *range(_RESERVED_AT_START, start)]:
        yield str(network[offset])


def new_instance_id() -> str:
    """An EC2 instance id never used before."""
    return f"i-{secrets.token_hex(9)[:17]}"


def new_cluster_id() -> str:
    """The twelve letters and digits at the end of a cluster's ARN."""
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(12))


def cluster_arn(region: str, account_id: str, cluster_id: str) -> str:
    """A cluster's ARN."""
    return f"arn:aws:sagemaker:{region}:{account_id}:cluster/{cluster_id}"
