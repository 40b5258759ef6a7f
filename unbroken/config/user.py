"""The cluster file's ``user`` section: the account that submits jobs."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from unbroken.config.section import Section, refusal


def _user_name(value: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", value):
        raise refusal(
            "is not a Linux user name: lower-case letters, digits, hyphens and underscores, at most 32",
            "use a name such as ubuntu",
        )
    if value in ("root", "slurm", "munge", "mysql", "nobody"):
        raise refusal("is a system account", "use a name such as ubuntu")
    return value


class UserConfig(Section):
    """The user on every node; at home in ``<name>`` below ``home.mount_path``, else ``storage``'s."""

    name: Annotated[str, AfterValidator(_user_name)] = "ubuntu"
    """Login name; ``ubuntu`` is the one HyperPod's images come with."""
    uid: Annotated[int, Field(ge=1000, le=60000)] = 1000
    """User and group id, the same on every node; 1000 is ``ubuntu`` on HyperPod's images."""
