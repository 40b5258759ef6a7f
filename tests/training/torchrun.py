"""torchrun's own reading of its options, for tests that do not load torch themselves."""

from __future__ import annotations

import os
from typing import Any


def options(environment: dict[str, str]) -> dict[str, Any]:
    """What torchrun would do with nothing on its line but a program."""
    from torch.distributed.run import parse_args

    os.environ.update(environment)
    return dict(vars(parse_args(["train.py"])))  # type: ignore[no-untyped-call]  # torch's own
