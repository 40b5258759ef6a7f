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


@reads("encryption", "storage", "home", "logs", "observability")
def _key_of_what_is_kept(cluster: Sections) -> Iterator[Fault]:
    """What a destroy keeps is of no use without its key."""
    if cluster.encryption.kms_key != "create" or cluster.encryption.deletion != "delete":
        return
    made = {
        "storage": cluster.storage if cluster.storage.existing is None else None,
        "home": cluster.home if cluster.home and cluster.home.existing is None else None,
        "logs": cluster.logs,
        "observability": cluster.observability if cluster.observability.prometheus == "create" else None,
    }
    kept = [f"{name}.deletion" for name, part in made.items() if part and part.deletion == "retain"]
    if kept:
        rule = f"takes the key of what {', '.join(kept)} {'keeps' if len(kept) == 1 else 'keep'}"
        hint = "use retain for the key too, or delete for all that it encrypts"
        yield Fault(("encryption", "deletion"), "delete", rule, hint)


RULES: tuple[Rule, ...] = (_key_of_file_system, _key_of_what_is_kept, _addresses_of_a_vpc_there_is)
