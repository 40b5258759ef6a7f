"""systemd: unit files and drop-ins in place, services started, and the words it has for why not."""

from __future__ import annotations

from collections.abc import Iterable

from unbroken_node.errors import CommandFailed, NodeError
from unbroken_node.host import Host

FOLDER = "/etc/systemd/system"
START_SECONDS = 90.0


def path(unit: str) -> str:
    """Return where a unit's file belongs."""
    return f"{FOLDER}/{unit}"


def drop_in_path(unit: str) -> str:
    """Return where our drop-in of a unit belongs."""
    return f"{FOLDER}/{unit}.d/50-unbroken.conf"


def render(**sections: Iterable[tuple[str, str]]) -> str:
    """Return the text of a unit file."""
    parts = (
        f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in pairs)
        for name, pairs in sections.items()
    )
    return "\n".join(parts)


def install(host: Host, unit: str, text: str) -> None:
    """Put a unit file in place. systemd reads it when the next unit is started, or at the next boot."""
    _put(host, path(unit), text)


def install_drop_in(host: Host, unit: str, text: str) -> None:
    """Put our drop-in of a unit in place; read by systemd as a unit file is."""
    _put(host, drop_in_path(unit), text)


def enable(host: Host, unit: str) -> None:
    """Have a unit started at every boot, and leave it as it is now.

    Reading all units again is most of what `systemctl enable` costs, and is not needed for that.
    """
    host.run("systemctl", "enable", "--no-reload", unit)


def restarting(unit: Iterable[tuple[str, str]], service: Iterable[tuple[str, str]] = ()) -> str:
    """Return a drop-in for a daemon that comes back by itself, since at a boot what it needs may be late.

    `unit` and `service` are further lines of those sections.
    """
    return render(
        Unit=[*unit, ("StartLimitIntervalSec", "0")],
        Service=[*service, ("Restart", "on-failure"), ("RestartSec", "2")],
    )


def is_active(host: Host, unit: str) -> bool:
    """Tell whether a unit runs."""
    return host.succeeds("systemctl", "is-active", "--quiet", unit)


def is_enabled(host: Host, unit: str) -> bool:
    """Tell whether a unit starts at boot."""
    return host.succeeds("systemctl", "is-enabled", "--quiet", unit)


def started_at(host: Host, unit: str) -> float:
    """Return when a unit's main process was started, in seconds since the epoch."""
    argv = ("systemctl", "show", "--value", "--property=ExecMainStartTimestampMonotonic", unit)
    microseconds = host.run(*argv).stdout.strip()
    age = host.monotonic() - int(microseconds or 0) / 1e6
    return host.now() - age


def start(host: Host, unit: str) -> None:
    """Start a unit now and at every boot; raises NodeError with its last words in the journal.

    `enable` makes systemd read unit files again, so what was installed before counts.
    """
    try:
        host.run("systemctl", "enable", "--now", unit, timeout=START_SECONDS)
    except CommandFailed as error:
        raise NodeError(f"{error}; {last_words(host, unit)}") from None


def last_words(host: Host, unit: str) -> str:
    """Return the last lines that a unit logged."""
    try:
        lines = host.run("journalctl", "--unit", unit, "--lines=3", "--output=cat", "--no-pager").stdout
    except CommandFailed as error:
        return str(error)
    return f"{unit} said: " + (" / ".join(lines.strip().splitlines()) or "nothing")


def _put(host: Host, name: str, text: str) -> None:
    host.path(name).parent.mkdir(parents=True, exist_ok=True)
    if host.read(name) != text:
        host.write(name, text)
