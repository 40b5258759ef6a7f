"""All emulated behaviours together, and the page generated from them.

``python -m unbroken.rehearsal.hyperpod.behaviours > docs/reference/emulation.md`` renews the page; a test
keeps both in step. The entries themselves are in the modules ``ledger_*``.
"""

from __future__ import annotations

import sys

from unbroken.rehearsal.hyperpod.ledger import Behaviour
from unbroken.rehearsal.hyperpod.ledger_agents import AGENT_BEHAVIOURS
from unbroken.rehearsal.hyperpod.ledger_aws import AWS_BEHAVIOURS
from unbroken.rehearsal.hyperpod.ledger_groups import GROUP_BEHAVIOURS
from unbroken.rehearsal.hyperpod.ledger_service import SERVICE_BEHAVIOURS

BEHAVIOURS: list[Behaviour] = [
    *SERVICE_BEHAVIOURS,
    *GROUP_BEHAVIOURS,
    *AGENT_BEHAVIOURS,
    *AWS_BEHAVIOURS,
]

_SECTIONS = (
    ("The service", SERVICE_BEHAVIOURS),
    ("Groups, Slurm by the API, placement", GROUP_BEHAVIOURS),
    ("The agents on a node", AGENT_BEHAVIOURS),
    ("The rest of AWS", AWS_BEHAVIOURS),
)

_HEAD = """\
# What the rehearsal emulates

Generated from the ledger in `unbroken/rehearsal/hyperpod`; do not edit. Renew it with
`python -m unbroken.rehearsal.hyperpod.behaviours > docs/reference/emulation.md`.

Each line is something Amazon SageMaker HyperPod, or AWS around it, does and the rehearsal does alike; one
test holds each. *Confidence*: `documented` by AWS, `observed` by others on real clusters and published, or
`inferred` by this project. *Verified on AWS* is the date somebody checked it against the real service.

The service's waits are minutes on AWS. Here they are as short as they go, unless one of the settings in
`unbroken/rehearsal/hyperpod/settings.py` stretches them: replacing a node (20 to 30 minutes on AWS), the API
showing an instance's new status (1 to 5 minutes), other nodes learning of a change, and the limit for
MinInstanceCount (3 hours).

Not emulated, and refused with a message that says so: EKS, restricted instance groups, several controllers,
several subnets in one group, instance requirements, `SlurmConfig` together with `OnCreate`, autoscaling, a
change of the accounting database. Taken and shown, but without effect: see HP053; tags; the hardware that
deep health checks look at; security groups and network ACLs between nodes, and those before a database.
"""


def counts() -> dict[str, int]:
    """How many behaviours there are and how many were verified on AWS."""
    return {
        "total": len(BEHAVIOURS),
        "verified_on_aws": sum(b.verified_on_aws is not None for b in BEHAVIOURS),
    }


def headline() -> str:
    """The count as one sentence for reports."""
    numbers = counts()
    return f"{numbers['verified_on_aws']} of {numbers['total']} behaviours verified on AWS"


def markdown() -> str:
    """The whole page."""
    parts = [_HEAD, f"**{headline()}.**"]
    parts += [_section(title, entries) for title, entries in _SECTIONS if entries]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _section(title: str, entries: list[Behaviour]) -> str:
    rows = [
        f"## {title}",
        "",
        "| id | behaviour | source | confidence | verified on AWS |",
        "|---|---|---|---|---|",
    ]
    rows += [_row(entry) for entry in entries]
    return "\n".join(rows)


def _row(entry: Behaviour) -> str:
    cells = (entry.id, entry.text, entry.source, entry.confidence, entry.verified_on_aws or "never")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(markdown())
