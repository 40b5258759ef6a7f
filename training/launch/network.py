"""Which network NCCL chose, from its own log (NCCL_DEBUG=INFO): EFA by way of libfabric, or plain sockets.

aws-ofi-nccl is NCCL's plugin for libfabric. Where the loader does not find it, or its version does not fit,
NCCL takes TCP sockets and says so in one line of many; training then runs at a fraction of its speed.
The lines are NCCL's and the plugin's own. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# Where EFA's installer and AWS's images put the plugin, newest first, and libfabric, which it is linked to
_PLUGIN_FOLDERS = (
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/amazon/ofi-nccl/lib",
    "/opt/aws-ofi-nccl/lib",
)
_LIBFABRIC = "/opt/amazon/efa/lib"
Chosen = Literal["efa", "libfabric", "sockets", "other"]

_LINES: tuple[tuple[re.Pattern[str], Chosen], ...] = (
    (re.compile(r"NET/OFI Selected [Pp]rovider is (?:\"|')?efa"), "efa"),
    (re.compile(r"NET/OFI Selected [Pp]rovider is"), "libfabric"),
    (re.compile(r"Using network (?:AWS )?Libfabric"), "libfabric"),
    (re.compile(r"Using network Socket"), "sockets"),
    (re.compile(r"via NET/Socket/\d"), "sockets"),
    (re.compile(r"Using network IB\b"), "other"),
)
# why the plugin was not taken; "Failed to find ... symbol" is said of plugins that are
_WHY = re.compile(
    r"(NET/Plugin ?: ?(?:Could not find|No plugin found|dlerror)[^\n]*"
    r"|NET/OFI (?:Could not find any|No eligible|OFI fi_getinfo\(\) call failed)[^\n]*)"
)


def chosen(line: str) -> Chosen | None:
    """The network a line of NCCL's log speaks of, or None."""
    if "NCCL" not in line:
        return None
    return next((network for pattern, network in _LINES if pattern.search(line)), None)


def library_path(environment: Mapping[str, str], root: Path = Path("/")) -> dict[str, str]:
    """What lets torch's own NCCL find EFA: the loader's path, and the name of a newer plugin.

    Nothing where there is no plugin in the usual places, or the environment already names one of them.
    """
    before = environment.get("LD_LIBRARY_PATH", "")
    folders = [folder for folder in _PLUGIN_FOLDERS if any((root / folder[1:]).glob("libnccl-net*.so"))]
    if not folders or folders[0] in before.split(":"):
        return {}
    path = ":".join(part for part in (folders[0], _LIBFABRIC, before) if part)
    is_new = not (root / folders[0][1:] / "libnccl-net.so").exists()
    return {"LD_LIBRARY_PATH": path, **({"NCCL_NET_PLUGIN": "ofi"} if is_new else {})}


@dataclass
class NetworkCheck:
    """Says once that NCCL took sockets on nodes that have EFA."""

    say: Callable[[str], None]
    seen: set[Chosen] = field(default_factory=set)
    why: str = ""
    """The plugin's complaint, if there was one."""

    def line(self, text: str) -> None:
        """Look for NCCL's choice."""
        if "NCCL" not in text:
            return
        if not self.why and (found := _WHY.search(text)):
            self.why = found.group(1).strip()
        network = chosen(text)
        if network is None or network in self.seen:
            return
        self.seen.add(network)
        if network == "sockets":
            self.say(self.complaint())

    def complaint(self) -> str:
        """What is wrong, and the way out."""
        why = f" ({self.why})" if self.why else ""
        return (
            f"NCCL uses TCP sockets although these nodes have EFA{why}: training will be slow\n"
            "  hint: LD_LIBRARY_PATH must have the aws-ofi-nccl and libfabric of the nodes; see "
            "docs/reference/job.md, 'EFA and NCCL'"
        )
