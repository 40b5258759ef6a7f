"""27-lustre-efa: Lustre's network runs over EFA, where the file system and the node's group have it.

AWS's own set-up program does it, as FSx for Lustre's user guide says ("Configuring EFA clients"): it loads
the modules, adds the interfaces and makes a service that does so at every boot. Its settings count only when
the modules are loaded, so what HyperPod has mounted already (`api` mode) is unmounted for that while. Nodes
without EFA, such as the controller, reach the same servers over TCP. Never tried on AWS by this project.
"""

from __future__ import annotations

import re
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from unbroken_node import mounts
from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

ARCHIVE = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/samples/configure-efa-fsx-lustre-client.zip"
DEVICES = "/dev/infiniband"
SETUP_SECONDS = 300.0
DOWNLOAD_SECONDS = 60.0


def wanted(node: Node) -> bool:
    """Tell whether this node reaches the file system over EFA."""
    return node.settings.lustre_over_efa and node.group in node.settings.efa_groups


def check(host: Host, node: Node) -> str | None:
    """An EFA interface is up in Lustre's network."""
    if not _has_device(host):
        return f"there is no EFA device in {DEVICES}"
    shown = host.run("lnetctl", "net", "show", accept=range(256))
    return None if shown.code == 0 and _efa_up(shown.stdout) else "Lustre's network has no EFA interface up"


def apply(host: Host, node: Node) -> None:
    """Run AWS's set-up program; a node without a device is refused, since TCP would only look like EFA."""
    if not _has_device(host):
        raise NodeError(
            f"storage.efa is set and group {node.group} has EFA, but there is no device in {DEVICES}: "
            "does the image have the EFA driver?"
        )
    share = mounts.lustre(node)
    mounted = mounts.problem(host, share) is None
    with tempfile.TemporaryDirectory(prefix="lustre-efa-") as folder:
        setup = fetch(Path(folder))
        if mounted:
            host.run("umount", share.path)
        host.run("lustre_rmmod", accept=range(256))
        host.run("bash", str(setup), timeout=SETUP_SECONDS)
    if mounted:
        host.run("mount", "-t", share.kind, "-o", share.options, share.source, share.path)


def fetch(folder: Path) -> Path:
    """Fetch and unpack AWS's program; return its entry. Raises NodeError."""
    archive = folder / "client.zip"
    try:
        with urllib.request.urlopen(ARCHIVE, timeout=DOWNLOAD_SECONDS) as answer:
            archive.write_bytes(answer.read())
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    except (urllib.error.URLError, OSError, zipfile.BadZipFile) as error:
        raise NodeError(
            f"{ARCHIVE} cannot be fetched ({error}); without a way there use an image on which EFA is set up"
        ) from None
    found = sorted(folder.rglob("setup.sh"))
    if not found:
        raise NodeError(f"{ARCHIVE} has no setup.sh")
    return found[0]


def _has_device(host: Host) -> bool:
    folder = host.path(DEVICES)
    return folder.is_dir() and any(path.name.startswith("uverbs") for path in folder.iterdir())


def _efa_up(text: str) -> bool:
    """Tell whether `lnetctl net show` has an interface that is up below a net of type efa."""
    nets = re.split(r"(?m)^\s*- net type:\s*", text)[1:]
    return any(net.startswith("efa") and re.search(r"(?m)^\s*status:\s*up\b", net) for net in nets)


STEP = Step("27-lustre-efa", check, apply, wanted=wanted)
