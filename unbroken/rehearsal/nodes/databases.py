"""A customer's own database server: a machine of the same image on which nothing but MariaDB is started."""

from __future__ import annotations

import dataclasses
import ipaddress

from unbroken.rehearsal.hyperpod.machines import Database, MachineError, MachineSpec
from unbroken.rehearsal.nodes.machine import NamespaceMachine

NAME = "accounting-database"
_TYPE = "ml.m5.large"
_SECONDS = 60.0
_CONFIG = "/etc/mysql/mariadb.conf.d/95-database.cnf"
_START = "systemctl start mariadb && until mysqladmin --silent ping; do sleep 0.1; done"


def spec(neighbour: MachineSpec) -> MachineSpec:
    """A machine at the last address of the neighbour's subnet that AWS leaves to its user."""
    subnet = ipaddress.ip_interface(f"{neighbour.address}/{neighbour.prefix_len}").network
    return dataclasses.replace(
        neighbour, name=NAME, address=str(subnet[-2]), instance_type=_TYPE, gpus=0, nvme_gib=0, ebs_gib=0
    )


def start(machine: NamespaceMachine, database: Database) -> None:
    """Boot it and give the account every right; raises MachineError."""
    machine.boot(timeout=_SECONDS)
    machine.put(_CONFIG, f"[mysqld]\nbind-address = 0.0.0.0\nport = {database.port}\n".encode())
    account = f"'{_quoted(database.user)}'@'%' IDENTIFIED BY '{_quoted(database.password)}'"
    statements = f"GRANT ALL ON *.* TO {account};"
    machine.put("/run/account.sql", statements.encode(), 0o600)
    script = f"{_START}; mysql --batch </run/account.sql && rm /run/account.sql"
    done = machine.run(["timeout", f"{_SECONDS:.0f}", "sh", "-c", script], timeout=_SECONDS + 10)
    if done.returncode != 0:
        raise MachineError(f"{machine.spec.name}: MariaDB did not start: {done.stderr.strip()}")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")
