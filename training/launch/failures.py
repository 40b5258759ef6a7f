"""What a failure looks like: which line of a log is the error, which errors are one, which blame a machine.

Pure functions of texts; standard library only.
"""

from __future__ import annotations

import re

# the last line of a Python traceback, after what srun -l, torchrun or a log prefix puts before it
_PYTHON_ERROR = re.compile(r"(?:^|[\s\]:])((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?)$")
_CODE = re.compile(r"(exit code|signal) (\d+)")
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|\d[\d.:]*")

# What CUDA, NCCL, the kernel and Lustre's client say when a machine, a GPU or a link is at fault
_OF_A_MACHINE = re.compile(
    "|".join(
        (
            r"uncorrectable ECC",
            r"fallen off the bus",
            r"\bXid\b",
            r"NVLink",
            r"devices?\(?s?\)? (?:is|are|is/are) busy or unavailable",
            r"no CUDA-capable device",
            r"ncclSystemError|ncclRemoteError",
            r"unhandled system error",
            r"remote process exited or there was a network error",
            r"Input/output error",
            r"transport endpoint",
            r"Stale file handle",
            r"without a word",
            r"exit code (?:1[3-9]\d|12[89])\b",
            r"queued again from outside",
        )
    ),
    re.IGNORECASE,
)

# What a rank says that only notices the end of another one
_OF_A_PEER = (
    "DistNetworkError",
    "Connection closed by peer",
    "Connection reset by peer",
    "ncclRemoteError",
    "remote process exited",
    "communicator was aborted",
)
_OF_NCCL = "DistBackendError"
WITHOUT_A_WORD = "a rank ended without a word"
"""The error where ranks lost a peer, and none says why that one has gone."""


def fingerprint(error: str) -> str:
    """The error without what differs from one time to the next: numbers, addresses, times.

    Exit codes and signals stay, since they tell errors apart.
    """
    kept = _CODE.sub(lambda found: f"{found.group(1)} {_in_letters(found.group(2))}", error)
    return " ".join(_VARYING.sub("#", kept).split())


def blames_a_machine(error: str) -> bool:
    """Whether the error is one that a machine's fault makes, and a bug seldom does."""
    return _OF_A_MACHINE.search(error) is not None


def is_from_a_peer(error: str) -> bool:
    """Whether the rank that says so only noticed that another one had gone."""
    return any(sign in error for sign in _OF_A_PEER)


def may_be_from_a_peer(error: str) -> bool:
    """Whether the error is NCCL's, whose own failure and whose peer's can sound alike."""
    return _OF_NCCL in error


def in_one_line(error: BaseException) -> str:
    """An error by its kind and first line; of NCCL's all lines but the C++ stack, since the first is not what
    went wrong."""
    text = f"{type(error).__name__}: {error}"
    if may_be_from_a_peer(text):
        return " ".join(text.partition("Exception raised from")[0].split())
    return text.splitlines()[0]


def error_in(line: str) -> str | None:
    """The error that a line of a log ends a traceback with, or None."""
    found = _PYTHON_ERROR.search(line.rstrip())
    return found.group(1) if found else None


def _in_letters(number: str) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in number)
