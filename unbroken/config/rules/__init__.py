"""The rules between sections of the cluster file, by what they are about.

Each is a function over all sections that yields faults, and says which sections it reads: it still runs when
another section is broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from unbroken.config.rules import accounts, addresses, folders, groups, names, services, slurm, zones
from unbroken.config.rules.needs import Rule
from unbroken.config.section import Fault
from unbroken.config.sections import Sections

RULES: tuple[Rule, ...] = tuple(
    rule
    for part in (names, zones, addresses, groups, slurm, folders, services, accounts)
    for rule in part.RULES
)


def between(sections: Sections, broken: Set[str] = frozenset()) -> Iterator[Fault]:
    """Every fault of the rules that read no broken section."""
    for rule in RULES:
        if not rule.needs & broken:
            yield from rule.faults(sections)
