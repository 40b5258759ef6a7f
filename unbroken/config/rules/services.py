"""What file systems need of keys and network."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.catalog.fsx import lustre
from unbroken.config.rules.needs import Rule, reads
from unbroken.config.section import Fault
from unbroken.config.sections import Sections


@reads("encryption", "storage")
def _key_of_file_system(cluster: Sections) -> Iterator[Fault]:
    """Source: FSx API reference, CreateFileSystem, KmsKeyId."""
    kind = cluster.storage.deployment_type
    wanted = cluster.encryption.kms_key
    if wanted != "aws" and cluster.storage.existing is None and not lustre.supports_key(kind):
        rule = f"cannot encrypt the file system: FSx encrypts {kind} with a key of its own"
        yield Fault(
            ("encryption", "kms_key"), wanted, rule, "use aws, or a persistent storage.deployment_type"
        )


@reads("network", "home")
def _addresses_of_a_vpc_there_is(cluster: Sections) -> Iterator[Fault]:
    """A created home exports to the addresses of the VPC, which the file does not know of one there is."""
    network, made = cluster.network, cluster.home is not None and cluster.home.existing is None
    if network.existing is None:
        return
    given, where = "vpc_cidr" in network.model_fields_set, ("network", "vpc_cidr")
    if made and not given:
        hint = "add it under network; the console shows it as the VPC's IPv4 CIDR"
        yield Fault(where, None, "is missing: the created home is exported to these addresses", hint)
    elif given and not made:
        rule = "has no effect beside network.existing without a home to be made"
        yield Fault(where, None, rule, "remove it, or remove network.existing")


RULES: tuple[Rule, ...] = (_key_of_file_system, _addresses_of_a_vpc_there_is)
