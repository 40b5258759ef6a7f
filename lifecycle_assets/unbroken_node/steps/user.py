"""50-user: the account that submits jobs, with the same id on every node, its home and its folder for work.

Both are on file systems of the cluster, and the same folder unless homes have one of their own.

HyperPod's images come with `ubuntu` (id 1000, home /home/ubuntu), so an account may be there already. Its
old home is left as it is: `usermod --move-home` fails once the new home exists, and after the first node it
always does.
"""

from __future__ import annotations

from dataclasses import dataclass

from unbroken_node import mounts
from unbroken_node.errors import CommandFailed, NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

SHELL = "/bin/bash"
# Of a home made here; one that exists keeps the mode its owner gave it.
HOME_MODE = 0o700
IDLE_SECONDS = 30.0
NOT_FOUND = 2  # getent's exit code
FIRST_UID = 1000  # below are the image's own accounts, which the cluster file refuses


@dataclass(frozen=True)
class Account:
    """A line of the user database."""

    name: str
    uid: int
    gid: int
    home: str


def check(host: Host, node: Node) -> str | None:
    """The account has its id and home, and owns its home."""
    settings = node.settings
    account = lookup(host, settings.user)
    if account is None:
        return f"there is no user {settings.user}"
    if account.uid != settings.uid:
        return f"user {account.name} has id {account.uid}, not {settings.uid}"
    if account.home != settings.home:
        return f"user {account.name} has its home in {account.home}, not {settings.home}"
    return _folder_problem(host, node, settings.home, account) or _folder_problem(
        host, node, settings.work, account
    )


def apply(host: Host, node: Node) -> None:
    """Make the account or give it its home, then make its folders."""
    settings = node.settings
    account = lookup(host, settings.user)
    if account is None:
        _create(host, node)
    elif account.uid != settings.uid:
        raise NodeError(
            f"user {account.name} has id {account.uid} here and {settings.uid} in the cluster file: "
            + (f"set user.uid to {account.uid}, or " if account.uid >= FIRST_UID else "")
            + "choose another user.name"
        )
    elif account.home != settings.home:
        _move_home(host, settings.user, settings.home)
    for folder in dict.fromkeys((settings.home, settings.work)):
        _make_folder(host, node, folder)


def lookup(host: Host, key: str) -> Account | None:
    """Find an account by name or id."""
    found = host.run("getent", "passwd", key, accept=(0, NOT_FOUND))
    fields = found.stdout.strip().split(":")
    if found.code == NOT_FOUND or len(fields) < 7:
        return None
    return Account(fields[0], int(fields[2]), int(fields[3]), fields[5])


def _create(host: Host, node: Node) -> None:
    name, uid, home = node.settings.user, str(node.settings.uid), node.settings.home
    other = lookup(host, uid)
    if other is not None:
        raise NodeError(f"id {uid} belongs to {other.name} here: give user.uid another value")
    if host.run("getent", "group", name, accept=(0, NOT_FOUND)).code == NOT_FOUND:
        host.run("groupadd", "--gid", uid, name)
    host.run(
        "useradd", "--uid", uid, "--gid", name, "--home-dir", home, "--no-create-home", "--shell", SHELL, name
    )


def _move_home(host: Host, name: str, home: str) -> None:
    """Change the home; usermod refuses while the user has processes, which may be about to end."""
    last = [""]

    def moved() -> bool:
        try:
            host.run("usermod", "--home", home, name)
        except CommandFailed as error:
            last[0] = str(error)
            return False
        return True

    host.wait(f"the home of {name} to change", moved, IDLE_SECONDS, found=lambda: last[0], poll=1.0)


def _make_folder(host: Host, node: Node, name: str) -> None:
    """Make it; one that belongs to somebody else is theirs, and check() will say so."""
    folder = mounts.shared(host, node, name)
    folder.mkdir(mode=HOME_MODE, exist_ok=True)
    if host.owner(name) == "0:0":
        host.run("chown", f"{node.settings.user}:", str(folder))


def _folder_problem(host: Host, node: Node, name: str, account: Account) -> str | None:
    problem = mounts.problem_at(host, node, name)
    if problem is not None:
        return problem
    if not host.path(name).is_dir():
        return f"{name} does not exist"
    owner = host.owner(name)
    if owner != f"{account.uid}:{account.gid}":
        return f"{name} belongs to {owner}, not to {account.uid}:{account.gid}"
    return None


STEP = Step("50-user", check, apply)
