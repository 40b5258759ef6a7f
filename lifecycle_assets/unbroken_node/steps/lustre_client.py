"""25-lustre-client: this node's Lustre client fits its kernel and the servers, and no upgrade changes it.

A machine image brings the client as a module built for one kernel. After an unattended upgrade, or on an
image of one's own, the mount fails with `Invalid argument` and says no more (reported often). The log's line
names both versions. Which pairs work: the Lustre project keeps clients compatible with servers one long-term
release apart (2.10, 2.12, 2.15).
"""

from __future__ import annotations

from unbroken_node import packages
from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

PATTERN = "lustre-client*"
# Client and server releases that are two long-term releases apart.
KNOWN_BAD = frozenset({("2.10", "2.15"), ("2.15", "2.10"), ("2.16", "2.10"), ("2.17", "2.10")})


def check(host: Host, node: Node) -> str | None:
    """A client for this kernel, of a release that speaks with the servers, and held."""
    version = client_version(host)
    if version is None:
        return f"there is no Lustre client module for kernel {_kernel(host)}"
    pair = (_release(version), node.settings.lustre_version)
    if pair in KNOWN_BAD:
        return f"a Lustre {version} client does not work with {pair[1]} servers"
    loose = _loose(host)
    return f"{', '.join(loose)} could be changed by an upgrade" if loose else None


def apply(host: Host, node: Node) -> None:
    """Hold the packages; neither a client nor a pair that works can be made here."""
    loose = _loose(host)
    if loose:
        packages.hold(host, loose)
    problem = check(host, node)
    if problem is not None:
        raise NodeError(f"{problem}; use an image whose client fits, or another storage.lustre_version")


def tell(host: Host, node: Node) -> str:
    """Return both versions."""
    client = client_version(host) or "none"
    return f"client {client}, servers {node.settings.lustre_version}, kernel {_kernel(host)}"


def client_version(host: Host) -> str | None:
    """Return the version of the module for the running kernel, or None."""
    found = host.run("modinfo", "--field", "version", "lustre", accept=(0, 1))
    return found.stdout.strip() or None if found.code == 0 else None


def _release(version: str) -> str:
    """Return 2.15 of 2.15.6-1fsx23."""
    return ".".join(version.split(".")[:2])


def _kernel(host: Host) -> str:
    return host.run("uname", "-r").stdout.strip()


def _loose(host: Host) -> list[str]:
    found = packages.installed(host, PATTERN)
    held = packages.held(host) if found else set()
    return [name for name in found if name not in held]


STEP = Step("25-lustre-client", check, apply, tell=tell)
