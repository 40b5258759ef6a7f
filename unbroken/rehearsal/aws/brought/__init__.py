"""Stand-ins for what a cluster file brings along by id: a VPC, file systems, buckets, roles, keys, secrets.

A rehearsal has no account of the user's to look into. What is made here is what such a thing has to be like
for the cluster to work; whether the user's own is like that is for ``unbroken preflight`` to say.
"""

from __future__ import annotations

from unbroken.config import ClusterConfig
from unbroken.rehearsal.aws.brought import access, network, storage
from unbroken.rehearsal.aws.embedded import EmbeddedAws


def bring(config: ClusterConfig, aws: EmbeddedAws) -> list[str]:
    """Make every stand-in that is not there yet; returns what they are, such as ``VPC vpc-0123...``."""
    made = [*access.bring(config, aws), *network.bring(config, aws), *storage.bring(config, aws)]
    return sorted(made)
