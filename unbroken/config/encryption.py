"""The cluster file's ``encryption`` section: whose key data at rest is encrypted with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.config.section import Fault, Section, ineffective, refusal

_KEY_ARN = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+"


def key_arn(value: str | None) -> str | None:
    """The rule of a key's ARN; None passes."""
    if value is not None and not re.fullmatch(_KEY_ARN, value):
        raise refusal("is not the ARN of a KMS key", "write arn:aws:kms:<region>:<account>:key/<id>")
    return value


def _whose_key(value: str) -> str:
    return value if value in ("aws", "create") else str(key_arn(value))


KeyArn = Annotated[str | None, AfterValidator(key_arn)]


class EncryptionConfig(Section):
    """Everything is encrypted at rest in any case; this says with whose key."""

    kms_key: Annotated[str, AfterValidator(_whose_key)] = "aws"
    """``aws`` (keys AWS owns or manages), ``create`` (a key of this cluster's own, rotated yearly), or an
    ARN: for file systems, volumes, buckets, log groups and metrics."""
    deletion: Literal["retain", "delete"] = "retain"
    """What a destroy does with a created key; without the key, what it encrypted is lost."""
    deletion_wait_days: Annotated[int, Field(ge=7, le=30)] = 30
    """Days between the key's deletion and its end, in which it can be had back."""

    def faults(self) -> Iterator[Fault]:
        """What a destroy does is said of a created key only."""
        if self.kms_key != "create":
            yield from ineffective(self, {"kms_key"}, f"kms_key: {self.kms_key}")
