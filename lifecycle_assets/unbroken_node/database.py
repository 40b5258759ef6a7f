"""MariaDB on the controller: configured, started, and holding one database for one user of its own.

The password is generated here, kept in a file that only root reads, and handed to the client on its
standard input: never as an argument, which everyone could see, and never to the log.
"""

from __future__ import annotations

import secrets

from unbroken_node import units
from unbroken_node.host import Host

UNIT = "mariadb.service"
# Read before any file numbered higher, so that an image or an operator can overrule it.
CONFIG = "/etc/mysql/mariadb.conf.d/80-unbroken.cnf"
PASSWORD = "/etc/unbroken/slurmdbd.password"  # noqa: S105 (a path)
DATABASE = "slurm_acct_db"
USER = "slurm"
READY_SECONDS = 60.0

# Slurm's accounting page asks for a longer lock wait and a larger buffer pool than the defaults.
CONFIG_TEXT = """\
# Accounting database of Slurm; written by the lifecycle bundle.
[mysqld]
bind-address = 127.0.0.1
innodb_buffer_pool_size = 1G
innodb_lock_wait_timeout = 900
max_allowed_packet = 16M
"""


def password(host: Host) -> str:
    """Return the database user's password, which stays out of the log from here on.

    It is made the first time, and made anew when others could have read it.
    """
    text = host.read(PASSWORD) if is_private(host) else None
    if text is None:
        folder = host.path(PASSWORD).parent
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        text = secrets.token_hex(24) + "\n"
        host.write(PASSWORD, text, 0o600)
    host.keep_secret(text.strip())
    return text.strip()


def is_private(host: Host) -> bool:
    """Tell whether the password exists and only root can read it."""
    return host.path(PASSWORD).is_file() and host.mode(PASSWORD) == 0o600


def start(host: Host) -> None:
    """Start MariaDB with our settings, and wait until it answers."""
    host.path(CONFIG).parent.mkdir(parents=True, exist_ok=True)
    if host.read(CONFIG) != CONFIG_TEXT:
        host.write(CONFIG, CONFIG_TEXT)
    units.start(host, UNIT)
    host.wait("MariaDB to answer", lambda: host.succeeds("mysqladmin", "ping"), READY_SECONDS)


def prepare(host: Host) -> None:
    """Make the database and its user, or give an existing user this node's password."""
    account = f"'{USER}'@'localhost'"
    statements = (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE};",
        f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{password(host)}';",
        f"ALTER USER {account} IDENTIFIED BY '{password(host)}';",
        f"GRANT ALL ON {DATABASE}.* TO {account};",
    )
    host.run("mysql", "--batch", stdin="\n".join(statements) + "\n")
