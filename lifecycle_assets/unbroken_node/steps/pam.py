"""88-pam: people log in by SSH only to compute nodes on which a job of theirs runs (pam_slurm_adopt).

A session joins its user's job and ends with it; root is let in always, and so is Session Manager, which does
not pass through sshd. As Slurm's page on pam_slurm_adopt has it: the module stands last among the account
rules, and pam_systemd must not move the session elsewhere afterwards.
"""

from __future__ import annotations

import re

from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import COMPUTE, Node
from unbroken_node.step import EVERY_MODE, Step

MODULE = "pam_slurm_adopt.so"
FOLDERS = ("/lib/security", "/lib/*/security", "/usr/lib/security", "/usr/lib/*/security", "/lib64/security",
           "/opt/slurm/lib/security", "/opt/slurm/lib/slurm")  # fmt: skip
SSHD = "/etc/pam.d/sshd"
SESSION = "/etc/pam.d/common-session"
_RULE = re.compile(rf"(?m)^account\s+required\s+\S*{re.escape(MODULE)}")
_SYSTEMD = re.compile(r"(?m)^(session\s+\S+\s+pam_systemd\.so.*)$")


def wanted(node: Node) -> bool:
    """Tell whether the cluster file asks for it."""
    return node.settings.pam_slurm_adopt


def check(host: Host, node: Node) -> str | None:
    """The rule stands in sshd's, and nothing undoes it."""
    if _RULE.search(host.read(SSHD) or "") is None:
        return f"{SSHD} does not ask for {MODULE}"
    if _SYSTEMD.search(host.read(SESSION) or "") is not None:
        return f"pam_systemd in {SESSION} would take sessions out of their jobs"
    return None


def apply(host: Host, node: Node) -> None:
    """Add the rule; refuse where the image lacks the module, since sshd would then refuse everybody."""
    module = _find(host)
    text = host.read(SSHD)
    if module is None or text is None:
        missing = SSHD if text is None else MODULE
        raise NodeError(
            f"{missing} is not on this image: install pam_slurm_adopt for its Slurm in an image of your own, "
            "or turn slurm.pam_slurm_adopt off"
        )
    if _RULE.search(text) is None:
        host.write(SSHD, f"{text.rstrip()}\naccount    required     {module}\n")
    session = host.read(SESSION)
    if session is not None and _SYSTEMD.search(session):
        host.write(SESSION, _SYSTEMD.sub(r"# \1", session))


def _find(host: Host) -> str | None:
    """Return the module's path."""
    for folder in FOLDERS:
        for path in sorted(host.root.glob(f"{folder.lstrip('/')}/{MODULE}")):
            return f"/{path.relative_to(host.root)}"
    return None


STEP = Step("88-pam", check, apply, frozenset({COMPUTE}), EVERY_MODE, wanted)
