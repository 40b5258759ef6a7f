"""The image's packages: what is installed, what is held, and installing one."""

from __future__ import annotations

from unbroken_node.errors import CommandFailed, NodeError
from unbroken_node.host import Host

INSTALL_SECONDS = 300.0
LOCK_SECONDS = 120.0


def installed(host: Host, pattern: str) -> list[str]:
    """Return the installed packages whose names match; none where the image does not have dpkg."""
    query = ("dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", pattern)
    try:
        lines = host.run(*query, accept=(0, 1)).stdout.splitlines()
    except CommandFailed:
        return []
    return sorted(
        name for name, _, status in (line.partition(" ") for line in lines) if status == "installed"
    )


def held(host: Host) -> set[str]:
    """Return the packages that no upgrade touches."""
    return set(host.run("apt-mark", "showhold").stdout.split())


def hold(host: Host, names: list[str]) -> None:
    """Keep packages as they are; waits for whoever has dpkg's lock."""
    last = [""]

    def done() -> bool:
        try:
            host.run("apt-mark", "hold", *names)
        except CommandFailed as error:
            last[0] = str(error)
            return False
        return True

    host.wait(f"{', '.join(names)} to be held", done, LOCK_SECONDS, found=lambda: last[0], poll=1.0)


def install(host: Host, name: str) -> None:
    """Install a package from the image's sources; raises NodeError with one way out."""
    options = ("-y", "-o", f"DPkg::Lock::Timeout={LOCK_SECONDS:.0f}", "-o", "Acquire::Retries=5")
    try:
        host.run("apt-get", "update", "-o", "Acquire::Retries=5", timeout=INSTALL_SECONDS)
        host.run("apt-get", "install", *options, "--no-install-recommends", name, timeout=INSTALL_SECONDS)
    except CommandFailed as error:
        raise NodeError(
            f"{name} is not on this image and cannot be installed; use one with it: {error}"
        ) from None
