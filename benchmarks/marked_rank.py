"""A rank of the trainer that notes when each part of its start is over, for benchmarks.resume.

It is the trainer's own entry point; functions at which parts end are wrapped once they are imported.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = "transformers.models.mistral.modeling_mistral"
"""Imported when the model is built, and counted with the imports."""
PARTS = (
    "torchrun and the rank's Python",
    "settings and watchdog",
    "imports",
    "process group",
    "build the model",
    "load and verify",
    "first step",
)


def main(job: str, ends: Path) -> int:
    """Run the rank; the first one writes at what moment each part ended."""
    moments = {PARTS[0]: time.monotonic()}
    pretrain: Any = importlib.import_module("training.pretrain")
    load_libraries = pretrain.load_libraries

    def marked() -> None:
        moments[PARTS[1]] = time.monotonic()
        load_libraries()
        importlib.import_module(MODEL)
        moments[PARTS[2]] = time.monotonic()
        mark_the_others(moments)

    pretrain.load_libraries = marked
    code = int(pretrain.main(["--config", job]))
    if os.environ["RANK"] == "0":
        ends.write_text(json.dumps(moments), encoding="utf-8")
    return code


def mark_the_others(moments: dict[str, float]) -> None:
    """Once the trainer is imported: the ends of what it does until the first step is reported."""
    checkpoints = importlib.import_module("training.checkpoint.saving").Checkpoints
    _mark(importlib.import_module("torch.distributed"), "init_process_group", moments, after=PARTS[3])
    _mark(checkpoints, "load_newest", moments, before=PARTS[4], after=PARTS[5])
    _mark(importlib.import_module("training.loop").Trainer, "after_step", moments, after=PARTS[6])


def _mark(owner: Any, name: str, moments: dict[str, float], *, before: str = "", after: str) -> None:
    """Note when a function is first called, and when it first returns."""
    original: Callable[..., Any] = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        moments.setdefault(before, time.monotonic())
        found = original(*args, **kwargs)
        moments.setdefault(after, time.monotonic())
        return found

    setattr(owner, name, call)


if __name__ == "__main__":
    end_process = importlib.import_module("training.console").end_process
    end_process(main(sys.argv[1], Path(sys.argv[2])))
