"""60-ssh: one key pair for the user, shared by all nodes, so that the user can go from node to node.

Several nodes make it at once. The lock is the file system's own: a key is generated aside and becomes *the*
key by link(2), which fails if another node was first. Everything else is derived from the private key, so
every node writes the same bytes, and a node that dies half-way leaves nothing to clear up but its own aside.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

from unbroken_node import mounts
from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

KEY = "id_ed25519"


def check(host: Host, node: Node) -> str | None:
    """The pair is there, belongs together, is the user's alone, and opens every node."""
    problem = mounts.problem_at(host, node, folder(node))
    if problem is not None:
        return problem
    for name, mode in (("", 0o700), (KEY, 0o600), (f"{KEY}.pub", 0o644), ("authorized_keys", 0o600)):
        path = f"{folder(node)}/{name}".rstrip("/")
        if not host.path(path).exists():
            return f"{path} does not exist"
        if host.mode(path) != mode:
            return f"{path} has mode {host.mode(path):04o}, not {mode:04o}"
    public = _public(host, host.path(folder(node)) / KEY)
    if host.read(f"{folder(node)}/{KEY}.pub") != public:
        return f"{KEY}.pub does not belong to {KEY}"
    if public.strip() not in (host.read(f"{folder(node)}/authorized_keys") or "").splitlines():
        return "the user's own key is not among its authorized_keys"
    return None


def apply(host: Host, node: Node) -> None:
    """Make what is missing; never replace a private key, and never drop a line a user authorized."""
    ssh = mounts.shared(host, node, folder(node))
    _refuse_links(ssh)
    ssh.mkdir(mode=0o700, exist_ok=True)
    owner = f"{node.settings.user}:{node.settings.user}"
    if not (ssh / KEY).exists():
        _publish_new_key(host, ssh, owner)
    public = _public(host, ssh / KEY)
    lines = (host.read(f"{folder(node)}/authorized_keys") or "").splitlines()
    authorized = [*lines, *([] if public.strip() in lines else [public.strip()])]
    host.write(f"{folder(node)}/{KEY}.pub", public, 0o644, owner)
    host.write(f"{folder(node)}/authorized_keys", "\n".join(authorized) + "\n", 0o600, owner)
    host.run("chown", owner, str(ssh), str(ssh / KEY))
    ssh.chmod(0o700)
    (ssh / KEY).chmod(0o600)


def folder(node: Node) -> str:
    """Return the user's .ssh."""
    return f"{node.settings.home}/.ssh"


def _refuse_links(ssh: Path) -> None:
    """The user owns the home: through a link there root would read, give away or change any file."""
    for path in (ssh, *(ssh / name for name in (KEY, f"{KEY}.pub", "authorized_keys"))):
        if path.is_symlink():
            raise NodeError(f"{path} is a link, which root does not follow: put the file itself in its place")


def _publish_new_key(host: Host, ssh: Path, owner: str) -> None:
    aside = Path(tempfile.mkdtemp(prefix=".new-key-", dir=ssh))
    try:
        comment = f"{owner.partition(':')[0]}@cluster"
        host.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(aside / KEY))
        host.run("chown", owner, str(aside / KEY))
        with contextlib.suppress(FileExistsError):  # another node was first: its key is the key
            (ssh / KEY).hardlink_to(aside / KEY)
    finally:
        shutil.rmtree(aside)


def _public(host: Host, private: Path) -> str:
    """The public half, without its comment, which not every version of ssh-keygen prints."""
    kind, key, *_ = host.run("ssh-keygen", "-y", "-f", str(private)).stdout.split()
    return f"{kind} {key}\n"


STEP = Step("60-ssh", check, apply)
