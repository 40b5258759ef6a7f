"""Programs on this machine that a deployment and a login need."""

from __future__ import annotations

import re
from typing import ClassVar

from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, passed, unknown
from unbroken.checks.subject import Program, Subject

Version = tuple[int, ...]


def version_in(text: str) -> Version | None:
    """The first dotted number in a program's words: ``aws-cli/2.17.1 Python/...`` gives (2, 17, 1)."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else None


class _Program(Check):
    """A program is there, and new enough."""

    area = Area.TOOLS
    name: ClassVar[str]
    least: ClassVar[Version]
    way_out: ClassVar[str]

    def run(self, subject: Subject) -> Outcome:
        """By the version it tells."""
        program = self.program(subject)
        if program is None:
            return failed(f"{self.name} is not on PATH", self.way_out)
        version = version_in(program.version)
        if version is None:
            said = program.version or "nothing"
            return unknown(f"{program.path} said {said!r} about its version", self.way_out)
        text = ".".join(map(str, version))
        if version < self.least:
            return failed(f"{self.name} is {text}", self.way_out)
        return passed(f"{self.name} {text}")

    def program(self, subject: Subject) -> Program | None:
        """Which of the programs."""
        raise NotImplementedError


class ToolAwsCli(_Program):
    """The AWS CLI, for sessions to nodes and commands of HyperPod."""

    id = "tool-aws-cli"
    asks = "the AWS CLI is 2.17.1 or newer, the least for HyperPod's commands"
    faults = ("UP-096",)
    name = "the AWS CLI"
    least = (2, 17, 1)
    way_out = "install the current AWS CLI version 2"

    def program(self, subject: Subject) -> Program | None:
        """``aws``."""
        return subject.programs.aws


class ToolSessionManagerPlugin(_Program):
    """The only way to log in to a node: there is no SSH port."""

    id = "tool-session-manager-plugin"
    asks = "the Session Manager plugin is there: it is the only way to a shell on a node"
    faults = ("UP-096",)
    name = "the Session Manager plugin"
    least = (1, 2)
    way_out = "install the Session Manager plugin for the AWS CLI"

    def program(self, subject: Subject) -> Program | None:
        """``session-manager-plugin``."""
        return subject.programs.session_manager_plugin


class ToolNode(_Program):
    """What runs CDK's library and the cdk command."""

    id = "tool-node"
    asks = "Node.js is 20 or newer (24 is the one this project is tested with), for CDK"
    name = "Node.js"
    least = (20, 0)
    way_out = "run `make setup`, which brings Node.js 24 along"

    def program(self, subject: Subject) -> Program | None:
        """``node``."""
        return subject.programs.node


class ToolCdk(_Program):
    """The command line; only version 2 deploys version-2 assemblies."""

    id = "tool-cdk"
    asks = "the cdk command is there, version 2"
    name = "the cdk command"
    least = (2, 0)
    way_out = "run `make setup`, which installs the cdk command this project is tested with"

    def program(self, subject: Subject) -> Program | None:
        """``cdk``."""
        return subject.programs.cdk
