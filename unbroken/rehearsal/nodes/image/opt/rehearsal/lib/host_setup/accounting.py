"""slurmdbd, over MariaDB on this controller or over the customer's own database."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host_setup.system import answers, drop_in, must, restarting, wait

ETC = Path("/opt/slurm/etc")
LOG = Path("/var/log/slurm/slurmdbd.log")
PORT = 6819
SLURM_CONF_SECONDS = 60.0
DATABASE_SECONDS = 60.0
UP_SECONDS = 60.0

CONF = """\
AuthType=auth/munge
DbdHost={name}
DbdAddr={address}
DbdPort={port}
SlurmUser=slurm
LogFile={log}
StorageType=accounting_storage/mysql
StorageHost={storage[host]}
StoragePort={storage[port]}
StorageUser={storage[user]}
StoragePass={storage[password]}
StorageLoc={storage[name]}
"""
INCLUDED = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStoragePort={port}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=30
"""


def bring_up(address: str, storage: Mapping[str, Any]) -> None:
    """Accounting up and the cluster registered; raises SetupFailed."""
    if storage["host"] == "localhost":
        _own_database(storage)
    else:
        wait(
            f"the database at {storage['host']}:{storage['port']}",
            lambda: answers(storage["host"], storage["port"]),
            DATABASE_SECONDS,
        )
    wait("slurm.conf", (ETC / "slurm.conf").exists, SLURM_CONF_SECONDS)
    (ETC / "accounting.conf").write_text(INCLUDED.format(address=address, port=PORT))
    _start(address, storage)
    must("/opt/slurm/bin/sacctmgr", "--immediate", "add", "cluster", cluster_name())


def cluster_name() -> str:
    """The name in slurm.conf."""
    found = re.search(r"(?m)^ClusterName=(\S+)", (ETC / "slurm.conf").read_text())
    return found[1] if found else ""


def _own_database(storage: Mapping[str, Any]) -> None:
    must("systemctl", "enable", "--now", "mariadb")
    account = f"'{storage['user']}'@'localhost' IDENTIFIED BY '{storage['password']}'"
    statements = (
        f"CREATE DATABASE IF NOT EXISTS {storage['name']};GRANT ALL ON {storage['name']}.* TO {account};"
    )
    wait("MariaDB", lambda: _sql(statements), DATABASE_SECONDS)


def _sql(statements: str) -> bool:
    """Hand statements to the client on its standard input: they hold a password."""
    done = subprocess.run(["mysql", "--batch"], input=statements, capture_output=True, text=True, check=False)
    return done.returncode == 0


def _start(address: str, storage: Mapping[str, Any]) -> None:
    conf = ETC / "slurmdbd.conf"
    conf.touch(mode=0o600)
    name = must("hostname").strip()
    conf.write_text(CONF.format(name=name, address=address, port=PORT, storage=storage, log=LOG))
    must("chown", "slurm:slurm", str(conf))
    drop_in("slurmdbd.service", restarting("mariadb.service" if storage["host"] == "localhost" else ""))
    must("systemctl", "enable", "--now", "slurmdbd")
    wait("slurmdbd", lambda: answers(address, PORT), UP_SECONDS, LOG)
