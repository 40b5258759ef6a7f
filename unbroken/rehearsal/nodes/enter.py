"""Command lines that run a program inside a node: from the server's namespaces, or from the host's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin:/opt/slurm/sbin"

# In the node: go where asked, append output where asked, take the image's environment, then the caller's.
_RUN = (
    'cd "$1" || exit 126; '
    '[ -z "$2" ] || { mkdir -p "${2%/*}"; exec >>"$2" 2>&1; }; '
    "shift 2; [ ! -r /etc/environment ] || { set -a; . /etc/environment; set +a; }; "
    'exec env "$@"'
)
_AT_HOME = 'HOME=$(getent passwd "$(id -u)" | cut -d: -f6); export HOME; cd && exec "$@"'


def into_server(server_pid: int) -> list[str]:
    """Prefix that enters the server's namespaces from the host's.

    Its root as well: where this machine is itself a chroot, that is not the root of the mount namespace.
    """
    return ["nsenter", "--target", str(server_pid), "--mount", "--pid", f"--root=/proc/{server_pid}/root"]


def from_server(pid: int) -> list[str]:
    """Prefix that enters the node whose init is ``pid``, from a process in the server's namespaces."""
    flags = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]
    return ["nsenter", "--target", str(pid), *flags, f"--root=/proc/{pid}/root", f"--wd=/proc/{pid}/root"]


def wrapped(
    argv: Sequence[str], cwd: str = "/", env: Mapping[str, str] | None = None, stdout_path: str | None = None
) -> list[str]:
    """The program as started in a node: working directory, output file and the image's environment set."""
    assignments = [f"{name}={value}" for name, value in (env or {}).items()]
    shell = ["/usr/bin/env", "-i", f"PATH={PATH}", "/bin/sh", "-c", _RUN, "run", cwd, stdout_path or ""]
    return [*shell, *assignments, *argv]


def command(server_pid: int, inner_pid: int, argv: Sequence[str], user: str | None = None) -> list[str]:
    """A command line for the host: enter the server's namespaces, then the node's, then run ``argv``.

    Needs root. ``server_pid`` is the host's, ``inner_pid`` is the server's view (nodes.json). With ``user``
    the program runs as that user, in the user's home.
    """
    as_user = ["runuser", "-u", user, "--", "sh", "-c", _AT_HOME, "sh", *argv] if user else list(argv)
    home = {"HOME": "/root", "TERM": "xterm-256color"}
    return [*into_server(server_pid), *from_server(inner_pid), *wrapped(as_user, env=home)]
