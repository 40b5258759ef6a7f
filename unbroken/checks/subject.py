"""What the checks look at: the cluster file, what was made of it, this machine and the account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from unbroken.aws import Aws
from unbroken.aws.sts import Identity
from unbroken.checks.template.model import Template
from unbroken.config import ClusterConfig

T = TypeVar("T")


@dataclass(frozen=True)
class Program:
    """A program on this machine and what it said of its version."""

    path: str
    version: str
    """Its first line of output, empty where it said nothing."""


@dataclass(frozen=True)
class Programs:
    """The programs a deployment needs; None for one that is not there."""

    aws: Program | None
    session_manager_plugin: Program | None
    node: Program | None
    cdk: Program | None


@dataclass(frozen=True)
class Missing:
    """A part that could not be made, and why."""

    reason: str
    fix: str
    wrong: bool
    """Whether something is wrong with the file or the checkout; otherwise a program is missing here."""


@dataclass(frozen=True)
class Subject:
    """One cluster file and everything known about it."""

    path: Path
    config: ClusterConfig
    bundles: Mapping[str, Path] | Missing
    """Folders of the rendered bundles: ``lifecycle`` and ``training``."""
    templates: Mapping[str, Template] | Missing
    """By area."""
    programs: Programs
    account: Account | None
    """None where AWS is not to be asked."""

    @property
    def known_bundles(self) -> Mapping[str, Path]:
        """The bundles; LookupError where there are none, which the runner rules out."""
        if isinstance(self.bundles, Missing):
            raise LookupError(self.bundles.reason)
        return self.bundles

    @property
    def known_templates(self) -> Mapping[str, Template]:
        """The templates; LookupError where there are none, which the runner rules out."""
        if isinstance(self.templates, Missing):
            raise LookupError(self.templates.reason)
        return self.templates

    @property
    def asked(self) -> Account:
        """The account; LookupError where it is not to be asked, which the runner rules out."""
        if self.account is None:
            raise LookupError("AWS is not asked")
        return self.account


class Account:
    """An AWS account and region; what several checks need is asked once."""

    def __init__(self, aws: Aws) -> None:
        self.aws = aws
        self._lock = Lock()
        self._answers: dict[str, Future[Any]] = {}

    @property
    def region(self) -> str:
        """The region asked."""
        return self.aws.session.region

    def once(self, what: str, ask: Callable[[], T]) -> T:
        """The answer of ``ask``, or the error it raised, the same for everybody who asks for ``what``."""
        with self._lock:
            future: Future[T] | None = self._answers.get(what)
            first = future is None
            if future is None:
                future = self._answers[what] = Future()
        if first:
            try:
                future.set_result(ask())
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    @property
    def known(self) -> bool:
        """Whether AWS has said who asks."""
        future = self._answers.get("identity")
        return future is not None and future.done() and future.exception() is None

    def identity(self) -> Identity:
        """Who asks."""
        return self.once("identity", self.aws.sts.identity)
