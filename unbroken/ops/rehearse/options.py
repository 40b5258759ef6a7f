"""What the user asked of a rehearsal, and the job it runs for that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unbroken.render import Overlay

TRAINING_PYTHON = "/opt/rehearsal/training/bin/python3"
"""The interpreter with torch in the image of the rehearsed nodes, reachable by every user."""
CONTEXT_LENGTH = 512
"""Tokens in a sample; the tiny preset takes 1024 at most."""
NUM_STEPS = 24
CHECKPOINT_EVERY = 6
SHORT_STEPS = 18
SHORT_CHECKPOINT_EVERY = 5


@dataclass(frozen=True)
class Options:
    """One rehearsal's settings."""

    cluster: Path
    fault: str = "worker"
    steps: int | None = None
    """Training steps; None for the usual number."""
    workers: int | None = None
    """Workers of the first worker group; None for what the cluster file says."""
    short: bool = False
    """Fewer steps and two workers at most: what CI runs."""
    out: Path = Path("out/rehearsal")
    keep: bool = False
    reduced: bool = False


def overlay(options: Options, python: str = TRAINING_PYTHON) -> Overlay:
    """What the rehearsal changes about the job: one CPU rank a node, the tiny preset, few steps.

    Nothing is fetched from a hub: a rehearsed node has no way there."""
    steps = options.steps or (SHORT_STEPS if options.short else NUM_STEPS)
    every = SHORT_CHECKPOINT_EVERY if options.short else CHECKPOINT_EVERY
    return Overlay(
        gpus_per_node=1,
        preset="tiny",
        context_length=CONTEXT_LENGTH,
        num_steps=steps,
        # At least two checkpoints, so that there is something to go on from and something left to do.
        checkpoint_every=max(1, min(every, steps // 3)),
        python=python,
        device="cpu",
        weights="scratch",
        dataset="shipped",
        tokenizer="bytes",
    )
