"""Kinds of values that a job's settings have, as the trainer has them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from unbroken.config.section import refusal

Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
AtLeastTwo = Annotated[int, Field(ge=2)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Part = Annotated[float, Field(gt=0.0, le=1.0)]


def steps_or_auto(value: object) -> object:
    """A number of steps, or ``auto``; one complaint for both."""
    if value != "auto" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise refusal("is neither a whole number from 1 nor auto", "write a number of steps, or auto")
    return value


def layers(value: object) -> object:
    """Which layers are computed again; one complaint for all kinds."""
    if not isinstance(value, bool) and value not in ("full", "selective"):
        raise refusal("is not true, false, full or selective", "write true or false")
    return value


def source(value: str) -> str:
    """A path, or a name on the Hugging Face hub."""
    if not value.startswith(("/", "./", "../", "~")) and not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", value):
        raise refusal(
            "is neither a path nor a name on the hub", "write owner/name, or a path that begins with /"
        )
    return value


def in_the_script(value: str) -> str:
    """A text that stands between single quotes in the batch script."""
    if not value or "'" in value or not value.isprintable():
        raise refusal("does not fit into the job script", "leave out quotes and control characters")
    return value


def absolute(value: str) -> str:
    """A path that means the same on every node and in every folder."""
    if not value.startswith("/") or "'" in value or not value.isprintable():
        raise refusal(
            "is not an absolute path that fits into the job script",
            "use a path that every node has, such as /fsx/unbroken/env/bin/python3",
        )
    return value


def mount(value: str) -> str:
    """A folder for a container: /folder, or /outside:/inside."""
    parts = value.split(":")
    if len(parts) > 2 or not all(part.startswith("/") for part in parts):
        raise refusal(
            "is not a folder, or two with a colon between them, each beginning with /",
            "write /fsx/data, or /outside:/inside; a relative path means another folder inside",
        )
    return in_the_script(value)
