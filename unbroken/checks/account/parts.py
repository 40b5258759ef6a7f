"""Images, keys, secrets, workspaces and alarms that are brought along."""

from __future__ import annotations

import socket

from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, listed, passed, together, unknown
from unbroken.checks.subject import Subject


class ImagesThere(Check):
    """An image that was deregistered, or never shared with this account."""

    id = "images"
    area = Area.PARTS
    asks = "every machine image of the file is there and available to this account"
    faults = ("UP-062",)
    calls = ("ec2:DescribeImages",)

    def applies(self, subject: Subject) -> bool:
        """Only with an image in the file."""
        return any(group.image_id for group in subject.config.groups())

    def run(self, subject: Subject) -> Outcome:
        """Each image. Whether HyperPod can boot it, only a node can show."""
        ids = dict.fromkeys(group.image_id for group in subject.config.groups() if group.image_id)
        return together(self._judge(one, subject) for one in ids)

    def _judge(self, image_id: str, subject: Subject) -> Outcome:
        image = subject.asked.aws.ec2.image(image_id)
        if image is None:
            fix = "correct image_id, or have the image shared with this account"
            return failed(f"there is no {image_id} in {subject.asked.region}", fix)
        if image.state != "available":
            return failed(f"{image_id}: {image.state}", "wait for it, or use another image")
        return passed(f"{image_id}: {image.architecture}")


class KeysUsable(Check):
    """A key that is disabled or about to go takes the data with it."""

    id = "keys"
    area = Area.PARTS
    asks = "every KMS key of the file is there, enabled, for encryption, and in the file's region"
    calls = ("kms:DescribeKey",)

    def applies(self, subject: Subject) -> bool:
        """Only with a key in the file."""
        return bool(_keys(subject))

    def run(self, subject: Subject) -> Outcome:
        """Each key."""
        return together(self._judge(arn, subject) for arn in _keys(subject))

    def _judge(self, arn: str, subject: Subject) -> Outcome:
        region = arn.split(":")[3]
        if region != subject.config.region:
            return failed(f"{arn} is in {region}", f"use a key in {subject.config.region}")
        key = subject.asked.aws.kms.key(arn)
        if key is None:
            return failed(f"there is no key {arn}", "correct its ARN in the file")
        if (key.state, key.usage, key.spec) != ("Enabled", "ENCRYPT_DECRYPT", "SYMMETRIC_DEFAULT"):
            return failed(f"{arn}: {key.state}, {key.usage}, {key.spec}", "use an enabled symmetric key")
        return passed(f"{arn.rpartition('/')[2]}: enabled")


def _keys(subject: Subject) -> list[str]:
    own = subject.config.encryption.kms_key
    keys = [own] if own.startswith("arn:") else []
    return list(
        dict.fromkeys([*keys, *(one.volume_kms_key for one in subject.config.groups() if one.volume_kms_key)])
    )


class AccountingSecret(Check):
    """Read by HyperPod as it sets accounting up."""

    id = "accounting-secret"
    area = Area.PARTS
    asks = "the secret of the accounting database is there and not about to be deleted"
    faults = ("UP-048",)
    calls = ("secretsmanager:DescribeSecret",)

    def applies(self, subject: Subject) -> bool:
        """Only with an external database."""
        return subject.config.slurm.accounting_database is not None

    def run(self, subject: Subject) -> Outcome:
        """By its ARN; its content is not read."""
        database = subject.config.slurm.accounting_database
        arn = database.secret_arn if database else ""
        secret = subject.asked.aws.secrets.secret(arn)
        if secret is None:
            return failed(f"there is no secret {arn}", "correct slurm.accounting_database.secret_arn")
        if secret.deleted:
            return failed(f"{arn} waits for its deletion", "restore it (aws secretsmanager restore-secret)")
        return passed(arn)


class AccountingEndpoint(Check):
    """Only the VPC can say whether nodes reach it; a name that does not exist can be told from anywhere."""

    id = "accounting-endpoint"
    area = Area.PARTS
    asks = "the accounting database's name resolves"
    faults = ("UP-048",)

    def applies(self, subject: Subject) -> bool:
        """Only with an external database."""
        return subject.config.slurm.accounting_database is not None

    def run(self, subject: Subject) -> Outcome:
        """By this machine's resolver. A name in a private zone is not to be seen from here."""
        database = subject.config.slurm.accounting_database
        name, port = (database.endpoint, database.port) if database else ("", 0)
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except OSError as error:
            return unknown(
                f"{name}: {error.strerror}", "check the name; a private zone resolves in the VPC only"
            )
        return passed(f"{name} is {found[0][4][0]}")


class Workspaces(Check):
    """Prometheus and Grafana workspaces that are there already."""

    id = "workspaces"
    area = Area.PARTS
    asks = "every workspace brought along is there and active"
    faults = ("UP-040",)
    calls = ("aps:DescribeWorkspace", "grafana:DescribeWorkspace")

    def applies(self, subject: Subject) -> bool:
        """Only with a workspace's id in the file."""
        return bool(self._ids(subject))

    def run(self, subject: Subject) -> Outcome:
        """Each workspace."""
        return together(self._judge(kind, name, subject) for kind, name in self._ids(subject).items())

    def _ids(self, subject: Subject) -> dict[str, str]:
        section = subject.config.observability
        pairs = {"prometheus": section.prometheus, "grafana": section.grafana}
        return {kind: name for kind, name in pairs.items() if name not in ("none", "create")}

    def _judge(self, kind: str, name: str, subject: Subject) -> Outcome:
        service = subject.asked.aws.observability
        ask = service.prometheus_status if kind == "prometheus" else service.grafana_status
        status = ask(name)
        if status is None:
            return failed(f"there is no {kind} workspace {name}", f"correct observability.{kind}")
        if status != "ACTIVE":
            return failed(f"{name}: {status}", "wait until it is active")
        return passed(f"{name}: active")


class RollbackAlarms(Check):
    """An update with an alarm that does not exist is refused."""

    id = "rollback-alarms"
    area = Area.PARTS
    asks = "every alarm that turns an update back is there"
    calls = ("cloudwatch:DescribeAlarms",)

    def applies(self, subject: Subject) -> bool:
        """Only with alarms in the file."""
        return bool(_alarms(subject))

    def run(self, subject: Subject) -> Outcome:
        """All at once, by name."""
        wanted = _alarms(subject)
        missing = [one for one in wanted if one not in subject.asked.aws.observability.alarms(wanted)]
        if missing:
            return failed(f"there is no {listed(missing)}", "make the alarm, or take it out of the file")
        return passed(listed(wanted))


def _alarms(subject: Subject) -> list[str]:
    updates = [one.scheduled_update for one in subject.config.groups() if one.scheduled_update]
    return list(dict.fromkeys(name for update in updates for name in update.rolling.rollback_alarms))
