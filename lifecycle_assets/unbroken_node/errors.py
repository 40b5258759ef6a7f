"""Errors that end a node's provisioning, and the exit codes they end it with."""

from __future__ import annotations

EXIT_FAILED = 1  # a step could not reach the state it is there for
EXIT_MISCONFIGURED = 2  # a file that steers the steps is missing, malformed or contradictory


class NodeError(Exception):
    """Something on this node or around it is not as it must be."""

    exit_code = EXIT_FAILED


class DocumentError(NodeError):
    """A JSON file is not what its reader expects: which file, which key, what was found."""

    exit_code = EXIT_MISCONFIGURED

    def __init__(self, file: str, key: str, found: str, expected: str) -> None:
        where = f"{file}: {key}" if key else file
        super().__init__(f"{where}: found {found}, expected {expected}")
        self.file = file
        self.key = key


class MissingDocument(DocumentError):
    """A JSON file is not there (yet)."""


class CommandFailed(NodeError):
    """A program ended with an error, could not be started, or took too long."""


class DeadlineExceeded(NodeError):
    """A state that was waited for did not come in time."""
