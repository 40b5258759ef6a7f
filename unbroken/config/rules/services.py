"""What other services allow: keys for file systems."""

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


RULES: tuple[Rule, ...] = (_key_of_file_system,)
