"""What a check is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar

from unbroken.checks.result import Outcome
from unbroken.checks.subject import Subject


class Area(str, Enum):
    """What a check looks at; the value is the heading."""

    FILE = "the cluster file"
    TOOLS = "programs on this machine"
    BUNDLE = "the files the nodes get"
    TEMPLATE = "the templates"
    ACCOUNT = "the account"
    QUOTAS = "quotas"
    CAPACITY = "instance types and capacity"
    NAMES = "names"
    PERMISSIONS = "permissions"
    NETWORK = "the VPC brought along"
    PARTS = "other parts brought along"

    @property
    def of_account(self) -> bool:
        """Whether its checks ask AWS."""
        return self not in (Area.FILE, Area.TOOLS, Area.BUNDLE, Area.TEMPLATE)


class Check(ABC):
    """One question about one cluster file. A subclass says what it asks and answers it.

    An AwsError or anything else that ``run`` raises becomes UNKNOWN in the runner, so a check need not handle
    what it did not expect; what it must never do is to answer PASS without evidence.
    """

    id: ClassVar[str]
    """Stable, greppable; the first word names what it is about."""
    area: ClassVar[Area]
    asks: ClassVar[str]
    """The question, as the sentence that should hold."""
    faults: ClassVar[tuple[str, ...]] = ()
    """Faults people met that it finds: UP- ids of docs/reference/preflight.md."""
    calls: ClassVar[tuple[str, ...]] = ()
    """IAM actions it needs."""
    needs_bundles: ClassVar[bool] = False
    needs_templates: ClassVar[bool] = False

    def applies(self, subject: Subject) -> bool:
        """Whether the file has anything it could ask about."""
        return True

    @abstractmethod
    def run(self, subject: Subject) -> Outcome:
        """The answer."""
